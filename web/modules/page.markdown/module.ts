import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "page.markdown",
  place: "stage",
  order: 40,
  icon: "page",
  label: () => t("stage.text"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ content: "" }),
};
