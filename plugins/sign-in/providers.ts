import type { SignInProvider } from "../../schemas/issuers.js";
import type { World } from "../../schemas/worlds.js";

/**
 * The providers by which people sign in to a world. One that was stored before they had a
 * meaning may have anything in their place.
 */
export function providersOf({ config }: World): readonly SignInProvider[] {
  const { oidc } = config as { oidc?: unknown };
  if (!Array.isArray(oidc)) return [];
  const texts = ["id", "name", "issuer", "client_id"] as const;
  return (oidc as (SignInProvider | null)[]).filter((it): it is SignInProvider =>
    texts.every((name) => typeof it?.[name] === "string"),
  );
}
