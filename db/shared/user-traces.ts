/**
 * What each erased user leaves in the tables of domains, and how it is removed. A
 * statement has the world as `$1` and the id of the user as `$2`.
 */
export const USER_TRACES: readonly (readonly [
  table: string,
  statement: string,
])[] = [
  [
    "attendance_visits",
    "DELETE FROM attendance_visits WHERE world_id = $1 AND user_id = $2",
  ],
];
