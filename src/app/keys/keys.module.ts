import { Module } from '@nestjs/common';
import { KeyWatch } from './key-watch.ts';

/** Checks the encryption keys of this process, and registers which keys each process has. */
@Module({ providers: [KeyWatch] })
export class KeysModule {}
