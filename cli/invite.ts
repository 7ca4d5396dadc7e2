import { Command, InvalidArgumentError, Option } from "commander";
import type { InvitationRecord } from "../db/contract/invitation-store.js";
import type { Store } from "../db/contract/store.js";
import {
  findWorld,
  invitationLink,
  invitationPages,
  queueInvitations,
  shownInvitations,
} from "../db/world-management.js";
import { Failure } from "../schemas/plain/failure.js";
import { HOST_ROLE } from "../schemas/plain/invitations.js";
import { emailAddress, mailSubject, mailText } from "../schemas/plain/mail.js";
import { trait } from "../schemas/plain/texts.js";
import { timeIn } from "../schemas/plain/times.js";
import type { World } from "../schemas/worlds.js";
import { addressIn, checked, command, settings, withStore } from "./command.js";
import { type JsonOption, print, printList } from "./output.js";

/** Parses the end of an invitation: a time, or `never`. */
function endIn(text: string): number | null {
  if (text === "never") return null;
  const ms = timeIn(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError("It must be a time such as 2027-03-31T18:00:00Z, or never.");
}

/** Returns an invitation as a command prints it. */
async function shown(store: Store, invitation: InvitationRecord, world: World, link?: string) {
  const [value] = await shownInvitations(store, [invitation], world);
  return { ...value!, ...(link !== undefined && { link }) };
}

interface CreateOptions extends JsonOption {
  name?: string;
  email?: string;
  role: string;
  expires?: number | null;
  link?: boolean;
}

const createInvitation = command(
  "create <world>",
  "invite a person",
  'invite create summit --name "Ada" --email ada@example.org --role speaker --link',
)
  .addOption(
    new Option("--name <name>", "the person's initial name").argParser(
      checked({ type: "string", maxLength: 300 }),
    ),
  )
  .addOption(
    new Option("--email <address>", "the person's e-mail address").argParser(checked(emailAddress)),
  )
  .addOption(
    new Option("--role <role>", "the role, a trait").argParser(checked(trait)).default(HOST_ROLE),
  )
  .addOption(
    new Option(
      "--expires <time>",
      "when it ends, or never; by default, 30 days after the event, but never for people who run it",
    ).argParser(endIn),
  )
  .option("--link", "print the link; it uses PUBLIC_URL, or else HOST and PORT")
  .action(async (id: string, { json, link, expires, ...draft }: CreateOptions) => {
    // Computed before anything is written, because it may throw.
    const address = link ? addressIn(settings()) : undefined;
    const made = await withStore(async (store) => {
      const world = await findWorld(store, id);
      const { name, email, role } = draft;
      const [invitation] = await store.invitations.create(id, [
        { name, email, role, expires_at: expires },
      ]);
      const url = address && (await invitationLink(world, invitation!, address));
      return shown(store, invitation!, world, url);
    });
    print(json, made, [made.link ?? made.id]);
  });

const listInvitations = command(
  "list <world>",
  "list the people who were invited",
  "invite list summit --json",
).action((id: string, { json }: JsonOption) =>
  withStore(async (store) => {
    const world = await findWorld(store, id);
    await printList(
      json,
      allInvitations(store, world),
      (it) => [it.id, it.state, it.role, it.name, it.email ?? ""],
      "Nobody was invited yet.",
    );
  }),
);

async function* allInvitations(store: Store, world: World) {
  for await (const page of invitationPages(store, world.id)) {
    yield* await shownInvitations(store, page, world);
  }
}

/**
 * Finds an invitation by its id, or by an e-mail address that only one has.
 * @throws {Failure} if there is none, or more than one.
 */
async function find({ invitations }: Store, world: World, who: string): Promise<InvitationRecord> {
  const found = who.includes("@")
    ? await invitations.byEmail(world.id, who)
    : [await invitations.get(world.id, who)].flatMap((it) => it ?? []);
  const [one] = found;
  if (!one) throw new Failure(`there is no invitation ${who}`);
  if (found.length === 1) return one;
  throw new Failure(
    `${found.length} invitations have the address ${who}; name one of them: ${found.map(({ id }) => id).join(", ")}`,
  );
}

const WHO = "<id-or-email>";

const linkInvitation = command(
  `link <world> ${WHO}`,
  "print a new link for an invited person; the old link ends",
  "invite link summit ada@example.org",
).action(async (id: string, who: string, { json }: JsonOption) => {
  const address = addressIn(settings());
  const made = await withStore(async (store) => {
    const world = await findWorld(store, id);
    const { id: invitation } = await find(store, world, who);
    const renewed = await store.invitations.renew(id, invitation, "link");
    return shown(store, renewed, world, await invitationLink(world, renewed, address));
  });
  print(json, made, [made.link!]);
});

interface SendOptions extends JsonOption {
  role?: string;
  subject?: string;
  text?: string;
}

const sendInvitations = command(
  "send <world> [id-or-email]",
  "send an invitation by e-mail; by default to everyone who has neither received one nor visited",
  "invite send summit --role speaker",
)
  .option("--role <role>", "only to people with this role, unless one is named")
  .addOption(
    new Option("--subject <text>", "the subject of these mails").argParser(
      checked({ type: "string", ...mailSubject }),
    ),
  )
  .addOption(
    new Option("--text <text>", "the text before the dates of the event").argParser(
      checked({ type: "string", ...mailText }),
    ),
  )
  .action(async (id: string, who: string | undefined, { json, role, ...wording }: SendOptions) => {
    const total = await withStore(async (store) => {
      const world = await findWorld(store, id);
      const named = who === undefined ? undefined : [[await find(store, world, who)]];
      const waiting = { unsent: true, state: "invited", role } as const;
      const sum = { queued: 0, skipped: 0 };
      for await (const page of named ?? invitationPages(store, id, waiting)) {
        const { queued, skipped } = await queueInvitations(store, world, page, wording);
        sum.queued += queued;
        sum.skipped += skipped;
      }
      return sum;
    });
    const lines = [`${total.queued} mails are queued. A running server with SMTP_URL sends them.`];
    if (total.skipped > 0) lines.push(`${total.skipped} people cannot receive one.`);
    print(json, total, lines);
  });

const revokeInvitation = command(
  `revoke <world> ${WHO}`,
  "revoke an invitation: its links and sessions end at once",
  "invite revoke summit ada@example.org",
).action(async (id: string, who: string, { json }: JsonOption) => {
  const revoked = await withStore(async (store) => {
    const world = await findWorld(store, id);
    const { id: invitation } = await find(store, world, who);
    return shown(store, await store.invitations.update(id, invitation, { revoked: true }), world);
  });
  print(json, revoked, [`Revoked the invitation ${revoked.id}.`]);
});

/** `foyer invite …` */
export const inviteCommand = new Command("invite")
  .description("invite people to a world, and end their links: foyer invite <world> --role …")
  .addCommand(createInvitation, { isDefault: true })
  .addCommand(listInvitations)
  .addCommand(linkInvitation)
  .addCommand(sendInvitations)
  .addCommand(revokeInvitation);
