import type { MessageInput } from '../../src/mail/neural/text/clean-message.ts';
import type { Sentiment } from '../../src/mail/neural/text/sentiment.ts';

/** Composed sentences of mail, each with a person's judgement of its sentiment. */
export const SENTIMENTS: readonly (readonly [Sentiment, string])[] = [
  ['POSITIVE', 'Thank you so much, the new version works perfectly!'],
  ['POSITIVE', 'I really enjoyed the workshop, you did a great job.'],
  ['POSITIVE', 'What a lovely surprise, we are very happy with it.'],
  ['POSITIVE', 'Congratulations on the launch, this is excellent work.'],
  ['POSITIVE', 'The delivery came a day early and everything was in it.'],
  ['POSITIVE', 'I would recommend your company to anybody.'],
  ['POSITIVE', 'Your support was quick, friendly and helpful.'],
  ['POSITIVE', 'We could not be happier with the result.'],
  ['NEGATIVE', 'This is the third time that the parcel arrives broken. I am very disappointed.'],
  ['NEGATIVE', 'Your service is terrible and nobody answers the phone.'],
  ['NEGATIVE', 'I want to cancel, the product is useless and I hate the design.'],
  ['NEGATIVE', 'Unfortunately the problem is worse than before, we are losing customers.'],
  ['NEGATIVE', 'I have been waiting for two weeks and still have no answer.'],
  ['NEGATIVE', 'The food was cold and the waiter was rude.'],
  ['NEGATIVE', 'Great, another crash. Just what I needed today.'],
  ['NEGATIVE', 'We are sad to tell you that Max died on Sunday.'],
  ['NEUTRAL', 'The meeting is at three in room 12.'],
  ['NEUTRAL', 'Please find the minutes attached.'],
  ['NEUTRAL', 'Can you send me the address of the hotel?'],
  ['NEUTRAL', 'The train leaves at 9:14 from platform 6.'],
  ['NEUTRAL', 'I have moved the appointment to Tuesday.'],
  ['NEUTRAL', 'The invoice is due on the 30th.'],
  ['NEUTRAL', 'Best regards, and see you on Monday.'],
  ['NEUTRAL', 'Thanks, received.'],
];

/** A composed message with the parts that must be found in it. */
export interface TextSample {
  message: MessageInput;
  conversation: string;
  signature: string;
}

const sample = (
  body: string,
  conversation: string,
  signature: string,
  fromName = 'Bo Smith',
): TextSample => ({
  message: { body, files: [], fromName },
  conversation,
  signature,
});

/** Replies and signatures in the forms of common mail programs. */
export const TEXTS: readonly TextSample[] = [
  sample(
    'Hi Ada,<br>\nyes, ten is fine.<br>\n<br>\nBest regards,<br>\nBo Smith<br>\nHead of Sales<br>\n<br>\nOn Mon, Nov 4, 2024 at 3:00 PM Ada &lt;ada@home.example&gt; wrote:<br>\n&gt; Is ten fine?<br>\n&gt; Ada',
    'Hi Ada,\nyes, ten is fine.',
    'Bo Smith\nHead of Sales',
  ),
  sample(
    '<div dir="ltr">Sounds good.<div><br></div><div>Bo</div></div><div class="gmail_quote"><div class="gmail_attr">On Mon Ada wrote:</div><blockquote>Tomorrow?</blockquote></div>',
    'Sounds good.',
    'Bo',
  ),
  sample(
    '<div dir="ltr">Please call me.<br clear="all"><div><br></div><span class="gmail_signature_prefix">-- </span><br><div class="gmail_signature"><div>Bo Smith</div><div>CEO, Acme</div></div></div>',
    'Please call me.',
    'Bo Smith\nCEO, Acme',
  ),
  sample(
    '<div>I agree.</div><div id="Signature"><p>Bo Smith</p><p>Tel. +49 30 901820</p></div><hr><div id="divRplyFwdMsg"><b>From:</b> Ada<br><b>Sent:</b> Monday</div><div>What do you say?</div>',
    'I agree.',
    'Bo Smith\n\nTel. +49 30 901820',
  ),
  sample(
    '<p>Done.</p><div class="moz-cite-prefix">On 04.11.24 Ada wrote:</div><blockquote type="cite">Is it done?</blockquote><div class="moz-signature">-- <br>Bo Smith</div>',
    'Done.',
    'Bo Smith',
  ),
  sample('See you there!<br>\n<br>\nSent from my iPhone', 'See you there!', 'Sent from my iPhone'),
  sample(
    'Liebe Ada,<br>\n<br>\ndas passt gut.<br>\n<br>\nMit freundlichen Grüßen<br>\nBo Smith<br>\nGeschäftsführer',
    'Liebe Ada,\n\ndas passt gut.',
    'Bo Smith\nGeschäftsführer',
  ),
  sample(
    'Bonjour,<br>\n<br>\nc’est parfait.<br>\n<br>\nCordialement,<br>\nBo Smith',
    'Bonjour,\n\nc’est parfait.',
    'Bo Smith',
  ),
  sample(
    'The report is ready.<br>\n<br>\n-- <br>\nBo Smith<br>\nbo@acme.example<br>\nwww.acme.example',
    'The report is ready.',
    'Bo Smith\nbo@acme.example\nwww.acme.example',
  ),
  sample('Just one line without an end.', 'Just one line without an end.', ''),
  sample(
    '<p>First paragraph.</p><p>Second paragraph, with a question?</p>',
    'First paragraph.\n\nSecond paragraph, with a question?',
    '',
  ),
  sample(
    '<table><tr><td><p>Hello Ada,</p><p>the table is only layout.</p></td></tr></table><p>Cheers,<br>Bo</p>',
    'Hello Ada,\n\nthe table is only layout.',
    'Bo',
  ),
  sample(
    'Ok.<br>\n<br>\n-----Original Message-----<br>\nFrom: Ada &lt;ada@home.example&gt;<br>\nSent: Monday<br>\nSubject: Plan<br>\n<br>\nIs this ok?',
    'Ok.',
    '',
  ),
  sample(
    'My answers are below.<br>\n<br>\n&gt; Is it red?<br>\nYes.<br>\n&gt; Is it big?<br>\nNo.',
    'My answers are below.\n\n> Is it red?\nYes.\n> Is it big?\nNo.',
    '',
  ),
  sample(
    'Thanks for the quick answer, that helps a lot.<br>\n<br>\nBo Smith<br>\nEngineer<br>\n+1 415 555 2671',
    'Thanks for the quick answer, that helps a lot.',
    'Bo Smith\nEngineer\n+1 415 555 2671',
  ),
  sample('Shall we meet on Monday?<br>\n<br>\nThanks!<br>\nBo', 'Shall we meet on Monday?', 'Bo'),
];
