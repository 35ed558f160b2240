"""Pictures and films of motions and fields; matplotlib is imported in this room only."""

from ..symbolic.runtime_type_checks import check_exports
from .film import animate, motion_film
from .ground_forces import WalkStep, draw_stance, draw_walk
from .growth import draw_growth
from .plane_field import FieldView, animate_field, draw_field
from .space_field import draw_field_in_space
from .sphere_drawing import draw_on_sphere
from .stroboscope import default_pictures, draw, motion_picture
from .swing_up import draw_swing_ups
from .time_series import overview_picture, plot
from .two_wheel_tracking import draw_two_wheel_tracking

__all__ = [
    "plot",
    "draw",
    "animate",
    "overview_picture",
    "motion_picture",
    "motion_film",
    "default_pictures",
    "FieldView",
    "draw_field",
    "animate_field",
    "draw_field_in_space",
    "draw_stance",
    "WalkStep",
    "draw_walk",
    "draw_swing_ups",
    "draw_two_wheel_tracking",
    "draw_on_sphere",
    "draw_growth",
]

check_exports(globals())
