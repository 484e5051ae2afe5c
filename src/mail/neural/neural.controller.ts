import { Body, Controller, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toFileView } from '../files/files.mapper.ts';
import { fileView } from '../files/files.schema.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toMessageView } from '../messages/messages.mapper.ts';
import { messageView } from '../messages/messages.schema.ts';
import { FeedbackService } from './feedback.service.ts';
import {
  toCategorizeView,
  toCleanOptions,
  toConversationView,
  toRecategorizedView,
  toSentimentView,
  toSignatureView,
} from './neural.mapper.ts';
import {
  categorizeBody,
  categorizeFeedbackBody,
  categorizeList,
  conversationBody,
  type ConversationBody,
  conversationFeedbackBody,
  conversationList,
  ocrBody,
  ocrFeedbackBody,
  ocrView,
  recategorizedView,
  sentimentAnswer,
  sentimentBody,
  sentimentFeedbackBody,
  sentimentFeedbackView,
  signatureBody,
  type SignatureBody,
  signatureFeedbackBody,
  signatureList,
} from './neural.schema.ts';
import { NeuralService } from './neural.service.ts';
import { OcrService } from './ocr.service.ts';

@ApiTags('neural')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@ApiErrors(404, 503)
@Controller('neural')
export class NeuralController {
  constructor(
    private readonly neural: NeuralService,
    private readonly ocrService: OcrService,
    private readonly feedback: FeedbackService,
  ) {}

  @Put('sentiment')
  @Endpoint({
    summary: 'Rate the sentiment of a text or of messages',
    description:
      'Uses an English lexicon on this server. Text in other languages is NEUTRAL with the score 0.',
    response: sentimentAnswer,
  })
  async sentiment(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: sentimentBody }) body: z.infer<typeof sentimentBody>,
  ) {
    if (body.text !== undefined)
      return toSentimentView(account, await this.neural.sentimentOfText(account, body.text));
    const results = await this.neural.sentiments(account, body.message_id ?? []);
    return results.map((result) => toSentimentView(account, result));
  }

  @Put('signature')
  @Endpoint({
    summary: 'Find the signatures of messages, and the contact data in them',
    response: signatureList,
  })
  async signature(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: signatureBody }) body: SignatureBody,
  ) {
    const parseContacts = body.parse_contacts ?? body.parseContacts ?? body.parse_contact ?? true;
    const found = await this.neural.signatures(
      account,
      body.message_id,
      toCleanOptions(body),
      parseContacts,
    );
    return found.map((each) => toSignatureView(account, each));
  }

  @Put('conversation')
  @Endpoint({
    summary: 'Return the written text of messages, without quotations and signatures',
    response: conversationList,
  })
  async conversation(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: conversationBody }) body: ConversationBody,
  ) {
    const found = await this.neural.conversations(account, body.message_id, toCleanOptions(body));
    return found.map((each) => toConversationView(account, each));
  }

  @Put('categorize')
  @Endpoint({ summary: 'Sort messages into conversations and feeds', response: categorizeList })
  async categorize(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: categorizeBody }) body: z.infer<typeof categorizeBody>,
  ) {
    const ids = body.message_id ?? body.messageId ?? [];
    const found = await this.neural.categories(account, ids);
    return found.map((each) => toCategorizeView(account, each));
  }

  @Put('ocr')
  @Access({ anyScope: SCOPES_FOR.readFiles })
  @ApiErrors(501)
  @Endpoint({
    summary: 'Read the text of an image or a PDF file',
    description:
      'Recognises English text, on this server. Limits: 20 MB, 25 million pixels and five pages.',
    response: ocrView,
  })
  async ocr(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: ocrBody }) body: z.infer<typeof ocrBody>,
  ) {
    const wanted = body.pages?.length ? body.pages : null;
    const { file, pages } = await this.ocrService.read(account, body.file_id, wanted);
    return { ...toFileView(file), ocr: pages, processed_pages: pages.length };
  }

  @Post('sentiment/feedback')
  @ApiErrors(409)
  @Endpoint({
    summary: 'Give feedback on the sentiment of a text or a message',
    response: sentimentFeedbackView,
  })
  async sentimentFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: sentimentFeedbackBody }) body: z.infer<typeof sentimentFeedbackBody>,
  ) {
    const { sentiment, message_id: messageId, text = '', overwrite = false } = body;
    const subject = messageId === undefined ? { text } : { messageId };
    await this.feedback.sentiment(account, subject, sentiment, overwrite);
    return { account_id: account.accountId, message_id: messageId, text: body.text, sentiment };
  }

  @Put('sentiment/feedback')
  @ApiErrors(409)
  @Endpoint({
    summary: 'The same as POST',
    aliasOf: 'Neural_sentimentFeedback',
    response: sentimentFeedbackView,
  })
  putSentimentFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: sentimentFeedbackBody }) body: z.infer<typeof sentimentFeedbackBody>,
  ) {
    return this.sentimentFeedback(account, body);
  }

  @Post('signature/feedback')
  @Endpoint({ summary: 'Report a wrong signature', response: messageView })
  async signatureFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: signatureFeedbackBody })
    { message_id, signature }: z.infer<typeof signatureFeedbackBody>,
  ) {
    const message = await this.feedback.message(account, 'signature', message_id, { signature });
    return toMessageView(message, account.organizationUnit);
  }

  @Post('conversation/feedback')
  @Endpoint({ summary: 'Report a wrong conversation text', response: messageView })
  async conversationFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: conversationFeedbackBody })
    { message_id, conversation }: z.infer<typeof conversationFeedbackBody>,
  ) {
    const message = await this.feedback.message(account, 'conversation', message_id, {
      conversation,
    });
    return toMessageView(message, account.organizationUnit);
  }

  @Post('ocr/feedback')
  @Access({ anyScope: SCOPES_FOR.readFiles })
  @Endpoint({ summary: 'Report a wrong text of a file', response: fileView })
  async ocrFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: ocrFeedbackBody }) { file_id, text }: z.infer<typeof ocrFeedbackBody>,
  ) {
    return toFileView(await this.feedback.ocr(account, file_id, { text }));
  }

  @Post('categorize/feedback')
  @Endpoint({
    summary: 'Set the category of a message',
    description: 'From then on the message has this category.',
    response: recategorizedView,
  })
  async categorizeFeedback(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: categorizeFeedbackBody })
    { message_id, category }: z.infer<typeof categorizeFeedbackBody>,
  ) {
    return toRecategorizedView(
      account,
      await this.feedback.categorize(account, message_id, category),
    );
  }
}
