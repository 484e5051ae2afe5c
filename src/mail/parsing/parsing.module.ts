import { Module } from '@nestjs/common';
import { MessageParser } from './message-parser.ts';

/** Reading messages in threads: for the mirror, and for messages that are sent as they are. */
@Module({ providers: [MessageParser], exports: [MessageParser] })
export class ParsingModule {}
