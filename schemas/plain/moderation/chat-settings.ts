import { type AnyModule, type Check, flag, settingFaults, whole } from "../calls.js";

/** The bounds of the setting `slow_mode`, in seconds. */
export const SLOW_MODE = { minimum: 0, maximum: 3_600 } as const;

/** The checks for a chat's moderation settings. All other settings are stored unchecked. */
const checks: Readonly<Record<string, Check>> = { slow_mode: whole(SLOW_MODE), hold: flag };

/**
 * Returns the faults in a room's chat modules, by field.
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
