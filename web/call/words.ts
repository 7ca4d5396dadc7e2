import { t } from "../i18n/index.js";
import type { CallEnd } from "../state/calls/call.js";
import type { CallNews } from "../state/calls/tiles.js";
import { lineName } from "../state/profile.js";

const ends = {
  left: "call.left",
  removed: "call.removed",
  ended: "call.ended",
  unreachable: "call.unreachable",
  "call.full": "call.full",
  "call.unavailable": "call.unavailable",
  "call.unknown": "call.ended",
  "call.missing_profile": "call.missingName",
} as const;

/** Returns a text that explains why a call has ended. */
export function endText(end: CallEnd | undefined): string {
  const isKnown = (it: string): it is keyof typeof ends => Object.hasOwn(ends, it);
  if (end !== undefined && isKnown(end)) return t(ends[end]);
  return /denied|unknown/.test(end ?? "") ? t("call.noRight") : t("call.unreachable");
}

const news = {
  came: "call.came",
  left: "call.wentAway",
  muted: "call.turnedOff",
  unmuted: "call.turnedOn",
  shares: "call.shares",
} as const;

/** Returns a text that describes a change in a call. */
export const newsText = ({ is, user }: CallNews): string =>
  t(news[is], { name: lineName(user, t("common.somebody")) });
