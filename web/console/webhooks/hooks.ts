import type { components } from "../../../client/api.js";
import { t } from "../../i18n/index.js";

export type Webhook = components["schemas"]["Webhook"];

/** The most that a world may have. */
export const MAX_WEBHOOKS = 20;

/** The kinds of changes that a form offers: the beginnings of their types. */
export const kinds = [
  "world",
  "room",
  "user",
  "announcement",
  "file",
  "session",
  "chat",
  "question",
  "poll",
] as const;

/**
 * How a webhook is. `stopped`: the server disabled it, as its receiver took nothing for days or is
 * gone, and plans no further try; `off`: a person did, which leaves the time of the next try.
 */
export type HookState = "on" | "failing" | "stopped" | "off";

export function stateOf({ enabled, state }: Webhook): HookState {
  const fails = state.failing_since !== null;
  if (enabled) return fails ? "failing" : "on";
  return fails && state.next_try_at === null ? "stopped" : "off";
}

/** Why a try failed, in a sentence. @param error the word of the server. */
export function reasonOf(error: string | null): string {
  const status = /^status_(\d+)$/.exec(error ?? "")?.[1];
  if (status === "410") return t("webhooks.gone");
  if (status !== undefined) return t("webhooks.answered", { status });
  switch (error) {
    case "timeout":
    case "not_found":
    case "unreachable":
    case "tls":
    case "address_not_allowed":
      return t(`webhooks.error_${error}`);
    default:
      return t("webhooks.unknown", { error: error ?? "" });
  }
}
