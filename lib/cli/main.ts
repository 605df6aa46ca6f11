#!/usr/bin/env node
/** The program `koa-viewsets`. */
import process from 'node:process'
import { runCommand } from './run-command.js'

process.exitCode = await runCommand(process.argv.slice(2), process)
// what a command has loaded may hold the process, such as a pool of connections
process.stdout.write('', () => process.exit())
