import { type AnyModule, type Check, flag, settingFaults, whole } from "../calls.js";

/** The bounds of the setting `slow_mode`, in seconds. */
export const SLOW_MODE = { minimum: 0, maximum: 3_600 } as const;

/** The checks of a chat's settings for moderation. All other settings are stored without a check. */
const checks: Readonly<Record<string, Check>> = { slow_mode: whole(SLOW_MODE), hold: flag };

/**
 * Returns the faults in a room's chats, by field.
 * @param field the path of the module list.
 */
export const chatFaults = (
  modules: readonly AnyModule[],
  field = "module_config",
): Record<string, string> =>
  Object.assign(
    {},
    ...modules.map(({ type, config }, i) =>
      type === "chat.native" ? settingFaults(checks, config, `${field}.${i}.config`) : {},
    ),
  ) as Record<string, string>;
