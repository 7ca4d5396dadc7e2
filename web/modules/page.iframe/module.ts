import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "page.iframe",
  place: "stage",
  order: 60,
  icon: "external",
  label: () => t("stage.pageFrame"),
  view: () => import("./View.svelte"),
  form: () => import("../FrameForm.svelte"),
  fresh: () => ({ url: "" }),
};
