import KFCore

/// `kf config`: every option's value, and which layer said it.
struct ConfigCommand: Sendable {
    private let json: Bool
    private let rows: [ConfigRow]
    private let path: String?
    private let isThere: Bool
    private let problem: UsageError?

    init(
        _ arguments: ParsedArguments, environment: [String: String], file: ConfigFile?
    ) throws(UsageError) {
        json = arguments.flag("json")
        path = ConfigFile.path(environment)
        isThere = file != nil
        let own = CommandTable.config.options.map(\.long)
        var rows: [ConfigRow] = []
        for option in CommandTable.allOptions where option.environmentVariable != nil {
            let setting: Setting? =
                own.contains(option.long)
                ? arguments.setting(option.long) : try ParsedArguments.setting(option, environment, file)
            let byDefault =
                option.long == "cache-dir" ? ImageCache.defaultDirectory(environment: environment) : option.byDefault
            let commands = CommandTable.all.filter { $0.option(long: option.long) != nil }.map(\.name)
            rows.append(ConfigRow(option: option, setting: setting, byDefault: byDefault, commands: commands))
        }
        self.rows = rows
        problem = Self.problem(environment, file)
    }

    func run() throws(UsageError) -> ExitStatus {
        if json { printJSON() } else { printTable() }
        if let problem { throw problem }
        return .success
    }

    /// What `kf fetch` and `kf prefetch` would refuse.
    private static func problem(_ environment: [String: String], _ file: ConfigFile?) -> UsageError? {
        for command in [CommandTable.fetch, CommandTable.prefetch] {
            do throws(UsageError) {
                let line = try CommandLineWords(command, [])
                let arguments = try ParsedArguments(line, environment: environment, file: file)
                _ = try CommonSettings(arguments)
                _ = try RetrievalSettings(arguments)
            } catch {
                return error
            }
        }
        return nil
    }

    private func printTable() {
        Terminal.print("# \(Terminal.visible(path ?? "no HOME, so no config file"))\(isThere ? "" : " (not there)")")
        let names = rows.map(\.option.long.count).max() ?? 0
        let cells = rows.map { Terminal.visible($0.shown) }
        let width = min(cells.map(\.count).max() ?? 0, 40)
        for (row, value) in zip(rows, cells) {
            let line =
                TextColumns.pad(row.option.long, to: names) + "  " + TextColumns.pad(value, to: width) + "  "
                + Terminal.visible(row.from)
            Terminal.print(line)
        }
    }

    private func printJSON() {
        for row in rows { Terminal.print(row.json.line) }
        var object = JSONObject()
        object.add("schema", 1)
        object.add("summary", true)
        object.add("config_file", path)
        object.add("exists", isThere)
        Terminal.print(object.line)
    }
}
