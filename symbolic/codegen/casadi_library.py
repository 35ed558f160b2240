"""C text of a library that CasADi loads by ``external``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Shape = tuple[int, int]


def library_text(
    name: str, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], text: str, call: str, work_size: int
) -> str:
    """C file of a function that CasADi loads by ``external``, around C text.

    Args:
        name: name of the function.
        inputs: shape of each input by name.
        outputs: shape of each output by name.
        text: definitions that ``call`` needs.
        call: statement that reads the inputs ``in``, writes the outputs ``out`` and may use the array ``w``.
        work_size: length of the array ``w``.
    """
    n, k = len(inputs), len(outputs)
    largest = max([1, *(rows * columns for rows, columns in (*inputs.values(), *outputs.values()))])
    parts = [text, _shapes(f"{name}_sparsity_in", inputs), _shapes(f"{name}_sparsity_out", outputs)]
    parts += [_names(f"{name}_name_in", inputs), _names(f"{name}_name_out", outputs)]
    parts.append(
        # CasADi passes a null pointer for an argument that is zero and for a result that is not needed.
        f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem) {{\n"
        f"  static const double zeros[{largest}] = {{0.}};\n"
        f"  const double *in[{n + 1}];\n  double *out[{k + 1}];\n"
        f"  for (int i = 0; i < {n}; ++i) in[i] = arg[i] ? arg[i] : zeros;\n"
        f"  for (int i = 0; i < {k}; ++i) out[i] = res[i] ? res[i] : w + {work_size};\n"
        f"  (void)iw; (void)mem; (void)w;\n  {call}\n  return 0;\n}}\n"
        f"long long {name}_n_in(void) {{ return {n}; }}\n"
        f"long long {name}_n_out(void) {{ return {k}; }}\n"
        f"int {name}_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w) {{\n"
        f"  if (sz_arg) *sz_arg = {n};\n  if (sz_res) *sz_res = {k};\n"
        f"  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = {work_size + largest};\n  return 0;\n}}\n"
    )
    return "\n".join(parts)


def _shapes(name: str, shapes: Mapping[str, Shape]) -> str:
    """CasADi's compressed form of full matrices: rows, columns, and 1 for full."""
    cases = " ".join(f"case {i}: return s{i};" for i in range(len(shapes)))
    arrays = " ".join(f"static const long long s{i}[3] = {{{r}, {c}, 1}};" for i, (r, c) in enumerate(shapes.values()))
    return f"const long long *{name}(long long i) {{ {arrays} switch (i) {{ {cases} default: return 0; }} }}"


def _names(name: str, names: Iterable[str]) -> str:
    cases = " ".join(f'case {i}: return "{_escaped(word)}";' for i, word in enumerate(names))
    return f"const char *{name}(long long i) {{ switch (i) {{ {cases} default: return 0; }} }}"


def _escaped(word: str) -> str:
    """Contents of a C string literal; escapes have three digits, so that no digit behind one joins it."""
    safe = "-./_ "
    return "".join(chr(b) if (chr(b).isalnum() and b < 128) or chr(b) in safe else f"\\{b:03o}" for b in word.encode())
