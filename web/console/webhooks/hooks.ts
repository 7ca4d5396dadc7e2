import type { components } from "../../../client/api.js";
import { t } from "../../i18n/index.js";

export type Webhook = components["schemas"]["Webhook"];

/** Maximum number of webhooks per world. */
export const MAX_WEBHOOKS = 20;

/** Prefixes of the change types that the form offers. */
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
 * A webhook's state. `stopped`: the server has disabled the webhook and plans no retry, because the
 * receiver failed for days or is gone. `off`: a person has disabled the webhook; the time of the
 * next attempt is kept.
 */
export type HookState = "on" | "failing" | "stopped" | "off";

export function stateOf({ enabled, state }: Webhook): HookState {
  const fails = state.failing_since !== null;
  if (enabled) return fails ? "failing" : "on";
  return fails && state.next_try_at === null ? "stopped" : "off";
}

/**
 * Returns a sentence that explains a failed delivery.
 * @param error the server's error code.
 */
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
