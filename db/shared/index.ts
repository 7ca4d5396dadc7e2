import { announcements } from "./announcements.js";
import { audit } from "./audit.js";
import { webhooks } from "./webhooks.js";

/** The domains that both engines bind, by their names in the store. */
export const domains = { announcements, audit, webhooks };

/** The name of a write among those of all domains, such as `announcements.create`. */
export type DomainWrite = {
  [
    Name in keyof typeof domains
  ]: `${Name}.${keyof (typeof domains)[Name]["parameters"] & string}`;
}[keyof typeof domains];
