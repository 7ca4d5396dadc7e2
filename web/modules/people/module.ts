import { t } from "../../i18n/index.js";
import { may } from "../../lib/rights.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "people",
  place: "panel",
  order: 90,
  icon: "people",
  isOwn: true,
  label: () => t("stage.people"),
  isShown: (room) => may(room, "room:viewers"),
  view: () => import("./View.svelte"),
  fresh: () => ({}),
};
