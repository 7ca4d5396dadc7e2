/** In a call, everyone talks. On a stage, the speakers talk and an audience listens. */
export const CALL_MODES = ["call", "stage"] as const;
export type CallMode = (typeof CALL_MODES)[number];

/** The media that a participant can publish. */
export const CALL_SOURCES = ["microphone", "camera", "screen"] as const;
export type CallSource = (typeof CALL_SOURCES)[number];

/** The call engines: the media servers that Foyer supports. */
export const CALL_ENGINES = ["livekit", "bigbluebutton", "jitsi"] as const;
export type CallEngineName = (typeof CALL_ENGINES)[number];

/** Each engine's module. A room has at most one call module. */
export const CALL_MODULES: Readonly<Record<CallEngineName, string>> = {
  livekit: "call.native",
  bigbluebutton: "call.bigbluebutton",
  jitsi: "call.jitsi",
};

/** The minimum and the maximum value of the setting `limit`, in people. */
export const CALL_LIMIT = { minimum: 2, maximum: 3000 } as const;

/** Checks a setting's value. Returns the fault as a sentence, or undefined if the value is valid. */
export type Check = (value: unknown) => string | undefined;

/** Checks a setting that is on or off. */
export const flag: Check = (value) =>
  typeof value === "boolean" ? undefined : "Must be true or false.";

/** Creates a check for a whole number within bounds. */
export const whole =
  ({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum
      ? undefined
      : `Must be a whole number from ${minimum} to ${maximum}.`;

const limit = whole(CALL_LIMIT);

const mode: Check = (value) =>
  CALL_MODES.some((mode) => mode === value) ? undefined : `Must be ${CALL_MODES.join(" or ")}.`;

/** Returns a check that also accepts null and the empty string, which forms send for an empty field. */
const orNothing =
  (pattern: RegExp, expected: string): Check =>
  (value) =>
    value === null || value === "" || (typeof value === "string" && pattern.test(value))
      ? undefined
      : `Must be ${expected}.`;

const number = orNothing(/^\d{1,20}$/, "a text of at most 20 digits");
const address = orNothing(/^https?:\/\/[^\s\0]{1,1990}$/, "an address that begins with https://");

/** The checks for each call module's settings. All other settings are stored without a check. */
const settingsOf: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "call.native": { mode, limit, start_muted: flag, video: flag, screen: flag },
  "call.bigbluebutton": {
    record: flag,
    waiting_room: flag,
    voice_bridge: number,
    auto_microphone: flag,
    auto_camera: flag,
    bbb_mute_on_start: flag,
    bbb_disable_cam: flag,
    bbb_disable_chat: flag,
    hide_presentation: flag,
    presentation: address,
  },
  "call.jitsi": {},
};

export interface AnyModule {
  readonly type: string;
  readonly config?: unknown;
}

/**
 * Returns the faults in a module's settings, by field.
 * @param place the path of the settings.
 */
export function settingFaults(
  settings: Readonly<Record<string, Check>>,
  config: unknown,
  place: string,
): Record<string, string> {
  if (config === undefined || config === null) return {};
  if (typeof config !== "object" || Array.isArray(config)) return { [place]: "Must be an object." };
  const faults: Record<string, string> = {};
  for (const [name, check] of Object.entries(settings)) {
    if (!Object.hasOwn(config, name)) continue;
    const fault = check((config as Record<string, unknown>)[name]);
    if (fault !== undefined) faults[`${place}.${name}`] = fault;
  }
  return faults;
}

/**
 * Returns the faults in a room's call modules, by field.
 * @param field the path of the module list.
 */
export function callFaults(
  modules: readonly AnyModule[],
  field = "module_config",
): Record<string, string> {
  const faults: Record<string, string> = {};
  let calls = 0;
  for (const [i, { type, config }] of modules.entries()) {
    const settings = Object.hasOwn(settingsOf, type) ? settingsOf[type] : undefined;
    if (!settings) continue;
    if (++calls === 2) faults[field] = "May hold only one module for calls.";
    Object.assign(faults, settingFaults(settings, config, `${field}.${i}.config`));
  }
  return faults;
}
