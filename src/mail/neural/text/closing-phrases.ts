/** Closing phrases of letters in the supported languages, without the comma. */
const CLOSINGS = [
  String.raw`(?:(?:with|all|my|our|very|kind|kindest|best|warm|warmest|many|fond) )*(?:regards|wishes|greetings)(?: from [\p{L} ]{1,30})?`,
  String.raw`(?:all the )?(?:very )?best`,
  String.raw`yours?(?: (?:sincerely|faithfully|truly|ever))?`,
  String.raw`(?:sincerely|respectfully|cordially|faithfully|warmly)(?: yours)?`,
  String.raw`cheers|take care|talk soon|love|hugs`,
  String.raw`(?:many |with |a lot of )*(?:thanks|thx|thank you)(?: (?:again|so much|very much|a lot|in advance|for your (?:help|time)))*(?: and (?:best |kind )?regards)?`,
  String.raw`(?:mit )?(?:freundlichen|freundliche|besten?|herzlichen?|liebe|viele|schöne) (?:grüße|grüßen|grüsse|grüssen|gruß|gruss)|mfg|lg|vg`,
  String.raw`(?:bien )?cordialement|bien à (?:vous|toi)|salutations|amicalement|merci(?: (?:beaucoup|d'avance))?`,
  String.raw`(?:un )?(?:cordial )?saludos?(?: cordiales)?|atentamente|gracias|un abrazo`,
  String.raw`(?:cordiali|distinti) saluti|grazie|(?:met )?(?:vriendelijke|hartelijke) groet(?:en)?|groetjes?`,
  String.raw`atenciosamente|abraços?|obrigad[oa]|med vänlig hälsning|(?:med )?venlig hilsen|hilsen|pozdrawiam`,
];
const CLOSING = new RegExp(String.raw`^(?:${CLOSINGS.join('|')})\s?[,.!–-]*$`, 'iu');
const MOST_CHARACTERS = 60;

/** True if the line is a closing phrase such as "Best regards,". */
export function isClosing(line: string): boolean {
  const trimmed = line.trim();
  return trimmed.length <= MOST_CHARACTERS && CLOSING.test(trimmed);
}
