import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../../accounts/grants/grant.entity.ts';
import { Message } from '../message.entity.ts';

const MessageContentSchema = defineEntity({
  name: 'MessageContent',
  tableName: 'message_content',
  partitionBy: { type: 'hash', expression: 'account_id', partitions: 32 },
  properties: {
    account: () => p.manyToOne(Grant).primary().updateRule('no action').deleteRule('cascade'),
    /** Not a foreign key: its cascade would search every partition. */
    messageId: p.uuid().primary(),
    /**
     * HTML as received, or converted from plain text, as `packText` encodes it; `null` if an object
     * store has it.
     */
    body: p.blob().nullable(),
    /** Length of the body in UTF-8 bytes. */
    bytes: p.integer(),
    /** Header lines that are read later (`keptHeaders`), as `packText` encodes them. */
    headers: p.blob().nullable(),
    /** What of the message could not be read or was guessed, in plain words. */
    warnings: p.json<string[]>().defaultRaw(`'[]'`),
    /** Key of the body in the object store; `null` if the body is in this row. */
    objectKey: p.text().nullable(),
    /** SHA-256 of the object. */
    objectDigest: p.blob().nullable(),
  },
});

/** The body of a message, and what of its header block is read later (ADR 0166). */
export class MessageContent extends MessageContentSchema.class {}
MessageContentSchema.setClass(MessageContent);

const MessageBodySchema = defineEntity({
  name: 'MessageBody',
  tableName: 'message_body',
  properties: {
    message: () => p.oneToOne(Message).primary().deleteRule('cascade'),
    body: p.text(),
    /** The header block as received; `null` if it was not kept. */
    headers: p.text().nullable(),
    warnings: p.json<string[]>().defaultRaw(`'[]'`),
  },
});

/** The form before `MessageContent`. Its rows are moved. */
export class MessageBody extends MessageBodySchema.class {}
MessageBodySchema.setClass(MessageBody);
