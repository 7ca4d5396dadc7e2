/**
 * The modes of recording attendance in a world's rooms. `numbers` records only the number of
 * people, `people` also records who was where, and `off` records nothing.
 */
export const attendanceModes = ["numbers", "people", "off"] as const;
export type AttendanceMode = (typeof attendanceModes)[number];

/** Returns the attendance mode in a world's config; the default is `numbers`. */
export const attendanceIn = ({ attendance }: Readonly<Record<string, unknown>>): AttendanceMode =>
  attendanceModes.find((mode) => mode === attendance) ?? "numbers";
