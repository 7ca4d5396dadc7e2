import { until } from "../support/helper.js";
import { axe } from "./axe.js";
import { pictureOf, say } from "./furnish.js";
import { type Lifetime, Site, textsOf, type Visitor, type World } from "./kit.js";
import t, { nightly, test } from "./tap.js";

const site = await Site.open(t);

/** Creates a world with two chat rooms, and two users in the first one. */
async function pair(t: Lifetime, where = site) {
  const world = await where.world(t);
  await world.room("Hallway", undefined, { sorting_priority: 1 });
  await world.room("Garden", undefined, { sorting_priority: 2 });
  const anna = await world.guest("Anna");
  const ben = await world.guest("Ben");
  await anna.enter("Hallway");
  await ben.enter("Hallway");
  return { world, anna, ben };
}

test("two people talk in a room", async (t) => {
  const { anna, ben } = await pair(t);

  await anna.say("Hello, is anybody here?");
  const heard = ben.post("Hello, is anybody here?");
  await heard.waitFor();
  await ben.log.getByRole("article", { name: /Anna/ }).waitFor();
  await ben.say("Yes, me.");
  await anna.log.getByRole("article", { name: /Ben/ }).filter({ hasText: "Yes, me." }).waitFor();

  await t.test("reactions", async () => {
    const said = anna.post("Hello, is anybody here?");
    await heard.hover();
    await heard.getByRole("button", { name: "React", exact: true }).click();
    await ben.page.getByRole("button", { name: "👍", exact: true }).click();
    await said.getByRole("button", { name: "👍 1" }).click();
    await heard.getByRole("button", { name: "👍 2" }).waitFor();
    await heard.getByRole("button", { name: "👍 2" }).click();
    await said.getByRole("button", { name: "👍 1" }).waitFor();
  });

  await t.test("an edit shows on all pages", async (t) => {
    const said = anna.post("Hello, is anybody here?");
    await anna.choose(said, "Message actions", "Edit");
    await anna.field("Edit message").fill("Hello, all of you!");
    await anna.button("Save").click();
    await ben.post("Hello, all of you!").waitFor();
    t.equal(await ben.post("is anybody here").count(), 0);
    t.equal(await ben.log.getByRole("article").count(), 2, "nothing doubled");
  });

  await t.test("messages of others have no edit button", async (t) => {
    const foreign = ben.post("Hello, all of you!");
    await foreign.hover();
    await foreign.getByRole("button", { name: "Message actions" }).click();
    t.same(await textsOf(ben.page.getByRole("menuitem")), ["Reply", "Copy link", "Report"]);
    await ben.page.keyboard.press("Escape");
  });

  await t.test("a deleted message disappears from all pages", async () => {
    await anna.choose(anna.post("Hello, all of you!"), "Message actions", "Delete");
    await confirm(anna, "Delete");
    await ben.post("Hello, all of you!").waitFor({ state: "detached" });
    await anna.post("Hello, all of you!").waitFor({ state: "detached" });
  });

  await t.test("lines and Markdown", async (t) => {
    await anna.message.fill("one");
    await anna.message.press("Shift+Enter");
    await anna.message.pressSequentially("**two**");
    await anna.message.press("Enter");
    const post = ben.post("one");
    await post.waitFor();
    await post.locator("strong", { hasText: "two" }).waitFor();
    t.equal(await anna.message.inputValue(), "", "the field is empty again");
  });
});

/** Confirms a dialog and waits until it closes: until then, it blocks the page. */
async function confirm(visitor: Visitor, yes: string): Promise<void> {
  await visitor.dialog().getByRole("button", { name: yes, exact: true }).click();
  await visitor.dialog().waitFor({ state: "detached" });
}

/** Starts a server for a single world, which then receives uploads under any host name. */
const alone = (t: Lifetime) => Site.open(t, {}, site.browser());

test("a photo is made smaller before it is sent", async (t) => {
  const { anna, ben } = await pair(t, await alone(t));
  const photo = await pictureOf("#0f766e", 4000, 3000);
  const file = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
  await anna.attach(
    "Attach a file",
    file("photo.png", "image/png", Buffer.from(photo)),
    file(
      "plan.svg",
      "image/svg+xml",
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="5000" height="10"/>'),
    ),
  );
  const shown = anna.page.locator(".attachment img");
  await until(async () => (await shown.count()) === 2);
  await anna.button("Send").click();
  const pictures = ben.log.locator("article img[src*='/media/pub/']");
  await until(async () => (await pictures.count()) === 2);
  /** The size of the original, of which the chat shows a preview. */
  const sizeOf = (type: string) =>
    ben.log.locator(`article img[src*='.${type}']`).evaluate(async (image: HTMLImageElement) => {
      const original = new Image();
      original.src = image.src.split("?")[0]!;
      await original.decode();
      return [original.naturalWidth, original.naturalHeight];
    });
  await until(async () => (await sizeOf("png")).join() === "2048,1536");
  await until(async () => (await sizeOf("svg")).join() === "5000,10");
});

test("files come by button, paste and drop", async (t) => {
  const { anna, ben } = await pair(t, await alone(t));
  const picture = await pictureOf("#0f766e", 64, 48);
  const text = [...picture].map((byte) => String.fromCharCode(byte)).join("");

  /** Sends a pending attachment, and waits for the given number of pictures. */
  const arrives = async (count: number) => {
    const pictures = ben.log.locator("article img[src*='/media/pub/']");
    await until(async () => {
      const send = anna.button("Send");
      if ((await send.isVisible()) && (await send.isEnabled())) {
        await send.click().catch(() => {});
      }
      return (await pictures.count()) >= count;
    });
    const last = pictures.nth(count - 1);
    await until(() => last.evaluate((image: HTMLImageElement) => image.naturalWidth === 64));
    t.equal(await pictures.count(), count);
  };

  await anna.attach("Attach a file", { name: "first.png", mimeType: "image/png", buffer: picture });
  await arrives(1);

  const transfer = await anna.page.evaluateHandle((text) => {
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    const made = new DataTransfer();
    made.items.add(new File([bytes], "next.png", { type: "image/png" }));
    return made;
  }, text);
  await anna.message.evaluate(
    (field, clipboardData) =>
      field.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
      ),
    transfer,
  );
  await arrives(2);
  await anna.log.dispatchEvent("dragenter", { dataTransfer: transfer });
  await anna.log.dispatchEvent("dragover", { dataTransfer: transfer });
  await anna.log.dispatchEvent("drop", { dataTransfer: transfer });
  await arrives(3);

  await t.test("a file that the server refuses says so", async () => {
    anna.watch.tolerate(/\/storage\/upload/);
    await anna.attach("Attach a file", {
      name: "notes.exe",
      mimeType: "application/octet-stream",
      buffer: Buffer.from("MZ"),
    });
    await anna.page.getByRole("alert").first().waitFor();
  });
});

test("a mention counts until it is read", async (t) => {
  const { anna, ben } = await pair(t);
  await anna.say("I am here.");
  await anna.enter("Garden");
  await ben.message.pressSequentially("Look, @Ann");
  await ben.page.getByRole("option", { name: /Anna/ }).click();
  await ben.message.press("End");
  await ben.message.pressSequentially("over there");
  await ben.message.press("Enter");
  // The page may resolve the mentioned user's name after it receives the message.
  await ben.post("Look, @Anna over there").waitFor();

  await until(async () => (await anna.page.title()).startsWith("(1) "));
  await anna.enter("Hallway");
  await anna.post("over there").waitFor();
  await until(async () => !(await anna.page.title()).startsWith("("));
});

test("a mention has its name before the server has it", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  // Anna has sent no message: she has only joined.
  await world.guest("Anna");
  const ben = await world.visitor();
  await ben.page.routeWebSocket(/\/ws\//, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      if (!message.includes('"chat.send"')) server.send(message);
    });
  });
  await ben.page.goto(world.link({ uid: "ben", name: "Ben" }));
  await ben.enter("Hallway");
  await ben.message.pressSequentially("Where is @Ann");
  await ben.page.getByRole("option", { name: /Anna/ }).click();
  await ben.message.press("Enter");
  const waiting = ben.log.getByRole("article").filter({ hasText: "Where is" });
  await waiting.filter({ hasText: "@Anna" }).waitFor();
});

test("direct messages, and blocking", async (t) => {
  const { anna, ben } = await pair(t);
  await ben.say("Good morning.");
  await anna.post("Good morning.").getByRole("button", { name: "Ben" }).click();
  await anna.dialog("Ben").getByRole("button", { name: "Send a message" }).click();
  // Until then, the page shows the room's message field.
  await anna.page.getByRole("heading", { name: "Ben", level: 1 }).waitFor();
  await anna.say("Just between us.");

  await until(async () => (await ben.page.title()).startsWith("(1) "));
  await ben.page.getByRole("link", { name: /^Messages/ }).click();
  await ben.heading("Direct messages").waitFor();
  const main = ben.page.getByRole("main");
  await main.getByRole("link", { name: /Just between us/ }).waitFor();
  await ben.page.getByRole("link", { name: /Anna/ }).first().click();
  await ben.post("Just between us.").waitFor();
  t.equal(await ben.log.getByText("joined").count(), 0, "both know it");
  await ben.say("Sure.");
  await anna.post("Sure.").waitFor();
  await main.getByRole("link", { name: /Anna.*Sure\./s }).waitFor();
  t.ok(await main.isVisible());

  await anna.post("Sure.").getByRole("button", { name: "Ben" }).first().click();
  await anna.dialog("Ben").getByRole("button", { name: "Block" }).click();
  await anna.dialog("Ben").getByRole("button", { name: "Unblock" }).waitFor();
  await anna.page.keyboard.press("Escape");
  await anna.page.getByRole("link", { name: /^Profile/ }).click();
  const blocked = anna.page.getByRole("list", { name: "Blocked people" });
  await blocked.getByText("Ben").waitFor();
  await blocked.getByRole("button", { name: /Unblock/ }).click();
  await blocked.getByText("Ben").waitFor({ state: "detached" });
});

test("a user starts a conversation by name", async (t) => {
  const { anna, ben } = await pair(t);
  await anna.page.getByRole("link", { name: /^Messages/ }).click();
  await anna.button("New message").click();
  const dialog = anna.dialog();
  await dialog.getByRole("searchbox").or(dialog.getByRole("textbox")).fill("Be");
  await dialog.getByRole("button", { name: /Ben/ }).click();
  await anna.message.waitFor();
  await anna.say("I found you.");
  await ben.page.getByRole("link", { name: /^Messages/ }).click();
  await ben.page.getByRole("link", { name: /Anna/ }).first().click();
  await ben.post("I found you.").waitFor();
});

test("older messages come by scrolling up", async (t) => {
  const world = await site.world(t);
  const room = await world.room("Hallway");
  const writer = await world.live({ uid: "writer", name: "Wanda" });
  await writer.call("chat.join", { channel: room });
  for (let n = 1; n <= 150; n++) {
    await say(writer, room, `Message ${n}.`);
  }
  const anna = await world.guest("Anna");
  await anna.enter("Hallway");
  await anna.post("Message 150.").waitFor();
  await until(async () => {
    const fallback = anna.button("Show earlier messages");
    if (await fallback.isVisible()) await fallback.click().catch(() => {});
    await anna.log.hover();
    await anna.page.mouse.wheel(0, -4000);
    return (await anna.post("Message 1.").count()) > 0;
  });
  const texts = await textsOf(anna.log.getByRole("article"));
  const numbers = texts.map((text) => Number(/Message (\d+)\./.exec(text)?.[1]));
  const wanted = Array.from({ length: 150 }, (_, i) => i + 1);
  t.same(numbers, wanted, "each once, in order");
});

test("a user changes their name and picture", async (t) => {
  const { anna, ben } = await pair(t, await alone(t));
  await anna.page.getByRole("link", { name: /^Profile/ }).click();
  await anna.heading("Profile").waitFor();
  await anna.field("Your name").fill("Annabel");
  await anna.field("Your name").press("Enter");
  await anna.attach("Change picture", {
    name: "me.png",
    mimeType: "image/png",
    buffer: await pictureOf("#c2410c"),
  });
  await anna.button("Remove picture").waitFor();
  await anna.enter("Hallway");
  await anna.say("This is me.");
  const post = ben.post("This is me.");
  await post.getByRole("button", { name: "Annabel" }).first().waitFor();
  await post.locator("img[src*='/media/pub/']").first().waitFor();
  t.equal(await ben.log.getByRole("article", { name: /Annabel/ }).count(), 1);
});

test("emoji that load late move nothing", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  await anna.enter("Hallway");
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  await anna.page.route(/EmojiPicker/, async (route) => {
    await given;
    await route.continue();
  });

  const button = anna.button("Insert an emoji");
  await button.click();
  await anna.message.pressSequentially("Hel");
  give();
  await until(async () => (await button.getAttribute("aria-expanded")) === "false");
  await anna.page.keyboard.type("lo ");
  t.equal(await anna.message.inputValue(), "Hello ");

  await button.click();
  await anna.dialog("Emoji").waitFor();
  await anna.page.keyboard.press("Enter");
  t.match(await anna.message.inputValue(), /^Hello \S+$/);
});

// Replies, links to messages, search, and bulk deletion.

/**
 * Creates a room with a message by Eve.
 * @param after how many more messages she sends; enough of them push the first one off the first
 * page of the history.
 */
async function past(t: Lifetime, after = 0) {
  const world = await site.world(t);
  const room = await world.room("Hallway");
  const eve = await world.live({ uid: "eve", name: "Eve" });
  await eve.call("chat.join", { channel: room });
  const channel = eve.channel(room);
  const first = (await channel.send("Where is the café?"))!;
  for (let n = 1; n <= after; n++) await channel.send(`Line ${n}`);
  return { world, room, channel, first };
}

const enter = (world: World, uid: string, traits: string[] = []) =>
  world.bearer({ uid, name: uid, traits });

nightly("a reply quotes a message, and leads to it", async (t) => {
  const { world, room, channel, first } = await past(t);
  const anna = await enter(world, "Anna");
  await anna.choose(anna.post("Where is"), "Message actions", "Reply");
  t.equal(await anna.message.inputValue(), "@Eve ", "who notices it");
  await anna.message.pressSequentially("by the stairs");
  await anna.message.press("Enter");
  const reply = anna.post("by the stairs");
  await reply.getByRole("button", { name: /Eve Where is the café/ }).waitFor();
  t.match(
    (await channel.history()).at(-1)?.content,
    { type: "text", reply_to: first.event_id },
    "clients that know nothing of replies show the text",
  );

  await anna.choose(reply, "Message actions", "Edit");
  const editor = anna.page.getByRole("textbox", { name: "Edit message" });
  await editor.fill("on the left");
  await editor.press("Enter");
  await anna
    .post("on the left")
    .getByRole("button", { name: /Where is the café/ })
    .click();
  await until(async () =>
    /found/.test((await anna.post("Where is the café?").first().getAttribute("class")) ?? ""),
  );
  t.same(await axe(anna.page), []);

  await channel.delete(first.event_id);
  await anna.post("on the left").getByText("This message was deleted.").waitFor();

  await anna.choose(anna.post("on the left"), "Message actions", "Copy link");
  const link = await anna.page.evaluate(() => navigator.clipboard.readText());
  t.match(link, `${world.attend}#/rooms/${room}/message/`);
});

nightly("a search finds what is no longer shown", async (t) => {
  const { world, room, first } = await past(t, 120);
  const anna = await enter(world, "Anna");
  await anna.post("Line 120").waitFor();
  await anna.button("Search messages").click();
  const field = anna.page.getByRole("searchbox", { name: "Search messages" });
  await field.fill("CAFE whe");
  await field.press("Enter");
  await anna.page.getByRole("button", { name: /Where is the café/ }).click();
  await anna.post("Where is the café?").waitFor();
  await anna.post("Line 120").waitFor({ state: "detached" });

  const link = `${world.attend}#/rooms/${room}/message/${first.event_id}`;
  const ben = await world.visitor();
  await ben.page.goto(`${link}`);
  await ben.join("Ben");
  await ben.post("Where is the café?").waitFor();

  await anna.page.evaluate((room) => (location.hash = `#/rooms/${room}/message/1`), room);
  await anna.page.getByText("This message is no longer there.").waitFor();
});

nightly("a moderator deletes several messages", async (t) => {
  const { world } = await past(t, 3);
  const mona = await enter(world, "Mona", ["moderator"]);
  await mona.choose(mona.post("Line 1"), "Message actions", "Select messages");
  await mona.post("Line 2").getByRole("checkbox").check();
  await mona.page.getByText("2 selected").waitFor();
  t.same(await axe(mona.page), []);
  await mona.button("Delete").click();
  await mona.dialog().getByRole("button", { name: "Delete" }).click();
  await mona.page.getByText("2 messages were deleted").waitFor();
  await mona.post("Line 3").waitFor();

  await mona.choose(mona.post("Line 3"), "Message actions", "Ban");
  await mona.dialog().getByRole("checkbox").check();
  await mona.dialog().getByRole("button", { name: "Ban" }).click();
  await mona.post("Line 3").waitFor({ state: "detached" });
  await mona.post("Where is").waitFor({ state: "detached" });
});

const moderator = { uid: "mona", name: "Mona", traits: ["moderator"] };

async function trolled(t: Lifetime) {
  const world = await site.world(t);
  await world.room("Hallway");
  const mona = await world.bearer(moderator);
  const troll = await world.guest("Trudy");
  const anna = await world.guest("Anna");
  for (const visitor of [mona, troll, anna]) await visitor.enter("Hallway");
  await troll.say("Buy my things.");
  for (const visitor of [mona, anna]) await visitor.post("Buy").waitFor();
  return { world, mona, troll, anna };
}

nightly("a moderator silences a user, who can still read", async (t) => {
  const { mona, troll, anna } = await trolled(t);
  await mona.choose(mona.post("Buy"), "Message actions", "Silence");
  await mona.dialog().getByRole("button", { name: "Silence" }).click();
  // The server makes the page reconnect, which then disables the message field.
  await until(() => troll.message.isDisabled());
  await troll.page.getByText("You can read for now, and write from").waitFor();
  await anna.say("Peace at last.");
  await troll.post("Peace at last.").waitFor();
  await mona.post("Buy").hover();
  await mona.post("Buy").getByRole("button", { name: "Message actions" }).click();
  await mona.page.getByRole("menuitem", { name: "Unsilence" }).waitFor();
  const again = mona.page.getByRole("menuitem", { name: "Silence", exact: true });
  t.equal(await again.count(), 0, "the menu knows it");
  await mona.page.keyboard.press("Escape");

  await mona.post("Buy").getByRole("button", { name: "Trudy" }).first().click();
  await mona.dialog("Trudy").getByRole("button", { name: "Unsilence" }).click();
  await mona.dialog("Trudy").getByRole("button", { name: "Silence" }).waitFor();
  await until(() => troll.message.isEnabled());
  await troll.say("I am sorry.");
  await anna.post("I am sorry.").waitFor();
});

nightly("a moderator bans a user, whose page says so", async (t) => {
  const { mona, troll, anna } = await trolled(t);
  await mona.post("Buy").getByRole("button", { name: "Trudy" }).first().click();
  await mona.dialog("Trudy").getByRole("button", { name: "Ban" }).click();
  await mona.page.getByText("they can come back in a private window").waitFor();
  await mona.dialog().last().getByRole("button", { name: "Ban", exact: true }).click();
  await troll.heading("You were removed from this event").waitFor();
  t.equal(await troll.log.count(), 0, "nothing of the event is left");
  await troll.page.reload();
  await troll.heading("You were removed from this event").waitFor();
  t.same(await axe(troll.page), []);
  await anna.say("Who was that?");
  await mona.dialog("Trudy").getByRole("button", { name: "Unban" }).click();
  // The troll's page reconnects without any input.
  await troll.post("Who was that?").waitFor();
});

nightly("a moderator goes to the console by the link to the event", async (t) => {
  const { mona, anna, world } = await trolled(t);
  const link = (who: typeof mona) => who.page.getByRole("link", { name: "Console", exact: true });
  t.equal(await link(anna).count(), 0, "not for people without rights");
  const [tab] = await Promise.all([mona.context.waitForEvent("page"), link(mona).click()]);
  const nav = tab.getByRole("navigation", { name: "Console" });
  await nav.getByRole("link", { name: "People" }).click();
  await tab.getByRole("row").filter({ hasText: "Mona" }).waitFor();
  await tab.getByRole("button", { name: "Sign out", exact: true }).click();
  await tab.getByRole("button", { name: "Sign out anyway" }).click();
  await tab.getByRole("textbox", { name: "Token" }).waitFor();
  await tab.reload();
  await tab.getByRole("textbox", { name: "Token" }).waitFor();
  await anna.page.goto(world.console);
  await anna.field("Token").waitFor();
});
