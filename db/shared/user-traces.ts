/**
 * What each erased user leaves in the tables of domains, and how it is removed. A
 * statement has the world as `$1` and the id of the user as `$2`.
 */
export const USER_TRACES: readonly (readonly [
  table: string,
  statement: string,
])[] = [];

/** Like {@link USER_TRACES}, but run while the user still has a name. */
export const NAME_TRACES: typeof USER_TRACES = [
  [
    "api_callers",
    `DELETE FROM api_callers WHERE world_id = $1
       AND token_id = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2)`,
  ],
];
