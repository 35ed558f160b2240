"""A ros2_control controller around the exported law: a C++ class, and notes for the README."""

from __future__ import annotations

from .controller_code import ControllerCode
from .syntax import string

ROS2_NOTE = (
    "A controller for the controller manager is a class around `NAME_tick`. The following one is a starting point for "
    "a package of your own. `update()` neither allocates nor waits for a lock; parameters pass through a real-time "
    "buffer and can be set by name while it runs. Interfaces come in the order in which they were requested. From "
    "ROS 2 Jazzy on, an error from `update()` makes the controller manager deactivate the controller; that of Humble "
    "reports it and continues, so safe commands are written first. Humble has `get_value()`, which returns the number "
    "itself, in place of `get_optional()`, and its `set_value()` returns nothing."
)
ROS2_TEMPLATE = """\
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rcl_interfaces/msg/set_parameters_result.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "NAME.h"

namespace NAME_ros
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

class Controller : public controller_interface::ControllerInterface
{
public:
  // Joint names as in the robot description: change the parameters if the names of the law differ.
  CallbackReturn on_init() override
  {
    auto_declare<std::vector<std::string>>("coordinates", {NAME_coordinate_names, NAME_coordinate_names + UPPER_NQ});
    auto_declare<std::vector<std::string>>("velocities", {NAME_velocity_names, NAME_velocity_names + UPPER_NV});
    auto_declare<std::vector<std::string>>("outputs", {DRIVEN});
    NAME_parameters_nominal(&parameters_);
    for (int i = 0; i < UPPER_NP; ++i) auto_declare<double>(NAME_parameter_names[i], parameters_.value[i]);
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & joint : outputs_) wanted.names.push_back(joint + "/effort");
    return wanted;
  }

  InterfaceConfiguration state_interface_configuration() const override
  {
    InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & joint : coordinates_) wanted.names.push_back(joint + "/position");
    for (const auto & joint : velocities_) wanted.names.push_back(joint + "/velocity");
    return wanted;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    // Values set since the declaration.
    coordinates_ = get_node()->get_parameter("coordinates").as_string_array();
    velocities_ = get_node()->get_parameter("velocities").as_string_array();
    outputs_ = get_node()->get_parameter("outputs").as_string_array();
    for (int i = 0; i < UPPER_NP; ++i)
      parameters_.value[i] = get_node()->get_parameter(NAME_parameter_names[i]).as_double();
    if (coordinates_.size() != UPPER_NQ || velocities_.size() != UPPER_NV || outputs_.size() != UPPER_NU)
      return CallbackReturn::ERROR;
    const int bad = NAME_check_parameters(&parameters_);
    if (bad >= 0) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s must be %s", NAME_parameter_names[bad], NAME_parameter_range(bad));
      return CallbackReturn::ERROR;
    }
    shared_.writeFromNonRT(parameters_);
    // Outside the real-time thread; the buffer passes the values on.
    changed_ = get_node()->add_on_set_parameters_callback([this](const std::vector<rclcpp::Parameter> & given) {
      NAME_parameters changed = parameters_;
      for (const auto & one : given)
        for (int i = 0; i < UPPER_NP; ++i)
          if (one.get_name() == NAME_parameter_names[i]) changed.value[i] = one.as_double();
      rcl_interfaces::msg::SetParametersResult result;
      const int place = NAME_check_parameters(&changed);
      result.successful = place < 0;
      if (place >= 0) {
        result.reason = std::string(NAME_parameter_names[place]) + " must be " + NAME_parameter_range(place);
        return result;
      }
      parameters_ = changed;
      shared_.writeFromNonRT(parameters_);
      return result;
    });
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    started_ = false;
FORGOTTEN    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    return release() ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  // Real-time thread: no allocation, no lock, no exception, no output to a terminal.
  return_type update(const rclcpp::Time & time, const rclcpp::Duration &) override
  {
    if (!started_) start_ = time;
    started_ = true;
    for (std::size_t i = 0; i < state_interfaces_.size(); ++i) {
      const auto value = state_interfaces_[i].get_optional();
      if (!value.has_value()) return fail();
      (i < UPPER_NQ ? q_[i] : v_[i - UPPER_NQ]) = *value;
    }
    const double t = (time - start_).seconds();
    const NAME_parameters * parameters = shared_.readFromRT();
SAMPLED    status_ = NAME_tick(parameters, REMEMBEREDt, q_.data(), v_.data(), u_.data());
    if (STOPPED) return fail();
    bool written = true;
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i)
      written = command_interfaces_[i].set_value(u_[i]) && written;
    return written ? return_type::OK : fail();
  }

private:
  // The safe command without a law depends on the machine: brakes, damping, or no torque, as here.
  bool release()
  {
    bool written = true;
    for (auto & command : command_interfaces_) written = command.set_value(0.0) && written;
    return written;
  }

  return_type fail()
  {
    release();
    return return_type::ERROR;
  }

  std::vector<std::string> coordinates_, velocities_, outputs_;
  std::array<double, UPPER_NQ> q_{};
  std::array<double, UPPER_NV> v_{};
  std::array<double, UPPER_NU> u_{};
  NAME_parameters parameters_{};
MEMORY  realtime_tools::RealtimeBuffer<NAME_parameters> shared_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr changed_;
  rclcpp::Time start_;  // the law's t is zero at the first update
  bool started_ = false;
  int status_ = UPPER_OK;
};
}  // namespace NAME_ros

PLUGINLIB_EXPORT_CLASS(NAME_ros::Controller, controller_interface::ControllerInterface)
"""


def ros2_text(law: ControllerCode) -> str:
    """Return a ros2_control controller around the law, as a starting point in C++.

    Args:
        law: C code of the law.
    """
    upper = law.name.upper()
    stopped = " && ".join(f"status_ != {status}" for status in law.applied)
    memory = {"SAMPLED": "", "REMEMBERED": "", "FORGOTTEN": "", "MEMORY": ""}
    if law.remembers:
        memory = {
            "SAMPLED": "    NAME_sample(parameters, t, q_.data(), v_.data(), &memory_);\n",
            "REMEMBERED": "&memory_, ",
            "FORGOTTEN": "    NAME_memory_initial(&memory_);\n",
            "MEMORY": "  NAME_memory memory_{};\n",
        }
    joints = ", ".join(map(string, _driven_joints(law)))
    outputs = joints or f"{law.name}_output_names, {law.name}_output_names + {upper}_NU"
    template = ROS2_TEMPLATE
    for word, text in memory.items():
        template = template.replace(word, text)
    return (
        template.replace("DRIVEN", outputs)
        .replace("STOPPED", stopped)
        .replace("UPPER", upper)
        .replace("NAME", law.name)
    )


def _driven_joints(law: ControllerCode) -> list[str]:
    """Names of the joints that the outputs drive, if they follow from the names of the outputs; empty otherwise."""
    joints, outputs = set(law.labels.coordinates.names), law.labels.inputs.names
    found = [name.removeprefix("u_") for name in outputs]
    return found if not law.controller.applies_force and joints.issuperset(found) else []


def ros2_section(law: ControllerCode) -> str:
    """Return the README's section on ros2_control.

    Args:
        law: C code of the law.
    """
    return ROS2_NOTE.replace("NAME", law.name) + _beyond_joints(law)


def _beyond_joints(law: ControllerCode) -> str:
    """Note for a law with forces as outputs or a free body; empty for one coordinate per joint."""
    c = law.controller.robot.coordinates
    if c.nq == c.nv and not law.controller.applies_force:
        return ""
    if law.controller.applies_force:
        return (
            " The outputs of this law are the generalized forces on all velocities that the program requires: "
            "real actuators can apply them only if each velocity has a separate motor."
        )
    return (
        " Coordinates and velocities of a free body do not come from joints: let a state estimator provide interfaces "
        "of these names."
    )
