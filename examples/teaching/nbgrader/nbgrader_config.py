# SPDX-License-Identifier: Apache-2.0
# nbgrader_config.py - the settings of nbgrader for this course.
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "gpu"
# The solutions are CUDA code in cells %%rung, where "#" begins no comment.
c.ClearSolutions.begin_solution_delimeter = "BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "END SOLUTION"
c.ClearSolutions.code_stub = {"python": "/* YOUR CODE HERE */"}
