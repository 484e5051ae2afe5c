import { Module } from '@nestjs/common';
import { MoveRunner } from './move-runner.ts';

/** Moves rows of large tables to new tables while the server runs. */
@Module({ providers: [MoveRunner], exports: [MoveRunner] })
export class MovesModule {}
