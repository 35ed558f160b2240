"""Programs and their controllers: consistent states, solutions with residuals, and forces at every tick."""
