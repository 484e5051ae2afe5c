import { Module } from '@nestjs/common';
import { MessageParser } from './message-parser.ts';

/** Parses messages in worker threads: for sync passes, and for messages sent as raw MIME. */
@Module({ providers: [MessageParser], exports: [MessageParser] })
export class ParsingModule {}
