/** What a world keeps of the people in its rooms: their numbers, who was where, or nothing. */
export const attendanceModes = ["numbers", "people", "off"] as const;
export type AttendanceMode = (typeof attendanceModes)[number];

/** What a world keeps: `config.attendance`, by default numbers. */
export function attendanceIn(
  config: Readonly<Record<string, unknown>>,
): AttendanceMode {
  const { attendance } = config;
  return attendanceModes.find((mode) => mode === attendance) ?? "numbers";
}
