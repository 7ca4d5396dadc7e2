export const words = {
  mail: {
    lead: "Invitations, reminders, and new links for people who lost theirs.",
    server: "Sending",
    can: "This server sends mails from {address}, at most {n} a minute.",
    cannot:
      "This server can’t send mails. Its operator can set up a mail server: SMTP_URL, MAIL_FROM and PUBLIC_URL.",
    manual: "How to set up e-mail",
    waiting: {
      one: "{n} mail of this event is waiting.",
      other: "{n} mails of this event are waiting.",
    },
    failed: {
      one: "{n} could not be delivered: see “People”.",
      other: "{n} could not be delivered: see “People”.",
    },
    sendAll: "Send all unsent invitations",
    sendAllTitle: "Send the invitations?",
    sendAllText:
      "Everyone on the list who has an e-mail address and has not received a mail yet gets one, with their personal link.",
    sendAllYes: "Send",
    queued: {
      one: "{n} mail is on its way.",
      other: "{n} mails are on their way.",
    },
    words: "Your words",
    subject: "Subject of invitations",
    subjectDefault: "Your invitation to {title}",
    text: "Text before the dates",
    textDefault: "You are invited to {title}.",
    textHint:
      "Each mail begins with the person’s name. The dates, a button with the personal link, and your contact follow.",
    contact: "Contact",
    contactHint:
      "An e-mail address, a link, or text. It appears in mails, and on pages that turn people away. Everybody can read it.",
    reminders: "Reminders",
    remind: "Send each invited person a mail one day and one hour before the event begins",
    noDates: "The event has no dates yet: set them under “Program”.",
    test: "Test mail",
    testText: "See an invitation as others receive it, and check that the mail server works.",
    testAddress: "Your e-mail address",
    testSend: "Send",
    testing: "Sending…",
    testSent: "The mail server has accepted the mail. Check your inbox and your spam folder.",
    testWaits: "The mail is still waiting. Mails of other events may be sent first.",
    unreachable:
      "The mail server can’t be used. The operator can find the reason in the server’s log.",
    unknown: "The connection was lost. The mail may or may not have arrived.",
    refused: "The mail server refused the mail: {answer}",
  },
};
