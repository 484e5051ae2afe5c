import { Logger } from '@nestjs/common';
import { writeLogsWith } from './light.ts';

// Every program with Nest imports this file, through `platform.module.ts`.
writeLogsWith((context) => new Logger(context));
