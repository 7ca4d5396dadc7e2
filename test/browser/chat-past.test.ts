import { axe } from "./axe.js";
import { eventually, type Lifetime, Site, type World } from "./kit.js";
import t from "./tap.js";

// Replies, links to messages, the search, and the deletion of several messages.

const site = await Site.open(t);

/** A room with a message of Eve, and as many of hers behind it that its first page is full. */
async function scene(t: Lifetime, after = 0) {
  const world = await site.world(t);
  const room = await world.room("Hallway");
  const eve = await world.live({ uid: "eve", name: "Eve" });
  await eve.call("chat.join", { channel: room });
  const channel = eve.channel(room);
  const first = await channel.send("Where is the café?");
  for (let n = 1; n <= after; n++) await channel.send(`Line ${n}`);
  return { world, room, channel, first };
}

const enter = (world: World, uid: string, traits: string[] = []) =>
  world.bearer({ uid, name: uid, traits });

void t.test("a reply quotes a message, and leads to it", async (t) => {
  const { world, room, channel, first } = await scene(t);
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
  await eventually("the message is marked", async () =>
    /found/.test(
      (await anna.post("Where is the café?").first().getAttribute("class")) ??
        "",
    ),
  );
  t.same(await axe(anna.page), []);

  await channel.delete(first.event_id);
  await anna
    .post("on the left")
    .getByText("This message was deleted.")
    .waitFor();

  await anna.choose(anna.post("on the left"), "Message actions", "Copy link");
  const link = await anna.page.evaluate(() => navigator.clipboard.readText());
  t.match(link, `${world.attend}#/rooms/${room}/message/`);
});

void t.test("a search finds what is no longer shown", async (t) => {
  const { world, room, first } = await scene(t, 120);
  const anna = await enter(world, "Anna");
  await anna.post("Line 120").waitFor();
  await anna.button("Search messages").click();
  const field = anna.page.getByRole("searchbox", { name: "Search messages" });
  await field.fill("CAFE eve");
  await field.press("Enter");
  await anna.page.getByRole("button", { name: /Where is the café/ }).click();
  await anna.post("Where is the café?").waitFor();
  await anna.post("Line 120").waitFor({ state: "detached" });

  const link = `${world.attend}#/rooms/${room}/message/${first.event_id}`;
  const ben = await world.visitor();
  await ben.page.goto(`${link}`);
  await ben.join("Ben");
  await ben.post("Where is the café?").waitFor();

  await anna.page.evaluate(
    (room) => (location.hash = `#/rooms/${room}/message/1`),
    room,
  );
  await anna.page.getByText("This message isn’t there any more.").waitFor();
});

void t.test("a moderator deletes several messages", async (t) => {
  const { world } = await scene(t, 3);
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
