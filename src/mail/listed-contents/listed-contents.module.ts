import { Module } from '@nestjs/common';
import { ListedContents } from './listed-contents.ts';

/** Connects requests with the mirror, which fetches and stores the contents of listed messages. */
@Module({ providers: [ListedContents], exports: [ListedContents] })
export class ListedContentsModule {}
