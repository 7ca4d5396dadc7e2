import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "livestream.iframe",
  place: "stage",
  order: 30,
  icon: "stage",
  label: () => t("stage.streamFrame"),
  view: () => import("./View.svelte"),
  form: () => import("../FrameForm.svelte"),
  fresh: () => ({ url: "" }),
};
