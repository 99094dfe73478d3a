/* SPDX-License-Identifier: Apache-2.0 */
/* report_internal.h - helpers that the parts of the bench section share, for lab/report only. */
#ifndef LAB_REPORT_INTERNAL_H
#define LAB_REPORT_INTERNAL_H

#include "report/report.h"

double lab_report_percent_of(double part, double whole);

bool lab_report_is_square(const lab_result *row);

int lab_report_problem_end(const lab_report_row_group *group, int start);

/* The median of what the probes beside these rows said. */
double lab_report_median_peak(const lab_report *report, const lab_report_row_group *group, int start, int end);

/* Draw the charts over sizes (section_sizes.c) and the roofline (section_roofline.c). */
void lab_report_draw_size_chart(lab_report *report, const lab_report_row_group *group);
void lab_report_draw_roofline_chart(lab_report *report, const lab_report_row_group *group);

#endif /* LAB_REPORT_INTERNAL_H */
