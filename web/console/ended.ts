import { t } from "../i18n/index.js";

/**
 * Why the server ended a connection for good, in words.
 * @returns also whether the token is of no more use.
 */
export function whyEnded(code: string): { isLasting: boolean; text: string } {
  switch (code) {
    case "auth.expired_token":
      return { isLasting: true, text: t("console.expired") };
    case "auth.invalid_token":
      return { isLasting: true, text: t("console.invalid") };
    case "auth.denied":
      return { isLasting: false, text: t("console.denied") };
    case "connection.replaced":
      return { isLasting: false, text: t("console.replaced") };
    case "world.unknown_world":
      return { isLasting: false, text: t("console.unknownWorld") };
    default:
      return { isLasting: false, text: t("console.ended", { code }) };
  }
}
