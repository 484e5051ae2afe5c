import { Module } from '@nestjs/common';
import { OverviewModule } from '../overview/overview.module.ts';
import { ConsoleAssetsController } from './assets.controller.ts';
import { ConsoleOverviewController } from './overview.controller.ts';
import { ConsoleSignInController } from './sign-in.controller.ts';

/** The web pages of operators, below `/console` (docs/console.md). */
@Module({
  imports: [OverviewModule],
  controllers: [ConsoleAssetsController, ConsoleSignInController, ConsoleOverviewController],
})
export class ConsoleModule {}
