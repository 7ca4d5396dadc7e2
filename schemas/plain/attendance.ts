/** What a world keeps of the people in its rooms: how many, also who was where, or nothing. */
export const attendanceModes = ["numbers", "people", "off"] as const;
export type AttendanceMode = (typeof attendanceModes)[number];

/** What a world keeps: `config.attendance`, by default numbers. */
export const attendanceIn = ({ attendance }: Readonly<Record<string, unknown>>): AttendanceMode =>
  attendanceModes.find((mode) => mode === attendance) ?? "numbers";
