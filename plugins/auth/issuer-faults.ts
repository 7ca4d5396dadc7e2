import type { Faults } from "../../schemas/errors.js";
import type { SignInProvider, TokenIssuer } from "../../schemas/issuers.js";
import type { WorldChanges } from "../../schemas/worlds.js";
import type { Outbound } from "../outbound/outbound.js";

type Checks = [path: string, fault: Promise<string | undefined> | string][];

/**
 * Checks a world's token issuers and sign-in providers beyond what schemas can express.
 * @returns messages by field; empty if there are no faults.
 */
export async function issuerFaults(
  { JWT_issuers = [], oidc = [] }: NonNullable<WorldChanges["config"]>,
  outbound: Pick<Outbound, "faultOf">,
): Promise<Faults> {
  const checks = [
    ...JWT_issuers.flatMap((issuer, i) =>
      checksOfIssuer(`config.JWT_issuers.${i}`, issuer, outbound),
    ),
    ...oidc.flatMap((provider, i) =>
      checksOfProvider(`config.oidc.${i}`, provider, oidc.slice(0, i), outbound),
    ),
  ];
  const faults: Faults = {};
  await Promise.all(
    checks.map(async ([path, found]) => {
      const fault = await found;
      if (fault !== undefined) faults[path] = [fault];
    }),
  );
  return faults;
}

function checksOfIssuer(
  path: string,
  { issuer, jwks_url, jwks }: TokenIssuer,
  outbound: Pick<Outbound, "faultOf">,
): Checks {
  const checks: Checks = [];
  if ((jwks_url === undefined) === (jwks === undefined)) {
    checks.push([path, "Must have either jwks_url or jwks."]);
  }
  if (jwks_url !== undefined) {
    checks.push([`${path}.jwks_url`, outbound.faultOf(jwks_url)]);
  }
  // Nothing is fetched from the issuer URL itself, so any scheme is allowed.
  if (/^https?:\/\//i.test(issuer)) {
    const url = issuer.replace(/^http:/i, "https:");
    checks.push([`${path}.issuer`, outbound.faultOf(url)]);
  }
  jwks?.keys.forEach((key, i) => {
    const fault = faultOfKey(key);
    if (fault) checks.push([`${path}.jwks.keys.${i}`, fault]);
  });
  return checks;
}

/** Rejects private keys, because anyone who can read the settings could issue tokens with a private key. */
function faultOfKey({ kty, d }: Record<string, unknown>): string | undefined {
  if (!["RSA", "EC", "OKP"].includes(String(kty))) {
    return "Must be a public key: of kty RSA, EC or OKP.";
  }
  return d === undefined
    ? undefined
    : "Must be the public key only, without d and other secret parts.";
}

function checksOfProvider(
  path: string,
  { id, issuer }: SignInProvider,
  before: readonly SignInProvider[],
  outbound: Pick<Outbound, "faultOf">,
): Checks {
  const checks: Checks = [[`${path}.issuer`, outbound.faultOf(issuer)]];
  if (before.some((other) => other.id === id)) {
    checks.push([`${path}.id`, "Another provider has this id."]);
  }
  return checks;
}
