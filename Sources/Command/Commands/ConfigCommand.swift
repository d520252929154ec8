import KFCore

enum ConfigCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let (environment, file) = (arguments.environment, arguments.file)
        let place = (path: ConfigFile.path(environment), exists: file != nil)
        let owned = CommandTable.all.map { (name: $0.name, options: $0.options) }
        var rows: [ConfigRow] = []
        for option in CommandTable.allOptions where option.environmentVariable != nil {
            let isOwn = Options.common().contains { $0.name == option.name }
            let setting: Setting? =
                isOwn ? arguments.setting(of: option) : try ParsedArguments.setting(option, environment, file)
            let byDefault =
                switch option {
                case _ where option === Options.cacheDir.spec: ImageCache.defaultDirectory(environment: environment)
                case _ where option === Options.cacert.spec: Options.systemAuthorities(environment)
                default: option.byDefault
                }
            let commands = owned.filter { $0.options.contains { $0.name == option.name } }.map(\.name)
            rows.append(ConfigRow(option: option, setting: setting, byDefault: byDefault, commands: commands))
        }
        let problem = problem(environment, file)
        if try arguments[Options.json] {
            for row in rows { Terminal.print(JSONObject(row, ConfigRow.fields).json) }
            Terminal.print(JSONObject(summary: place, summary).json)
        } else {
            print(rows, place)
        }
        if let problem { throw problem }
        return .success
    }

    /// The first setting that `kf fetch` or `kf prefetch` would refuse.
    private static func problem(_ environment: [String: String], _ file: ConfigFile?) -> UsageError? {
        for command in CommandTable.all where command.words == ["fetch"] || command.words == ["prefetch"] {
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

    private static func print(_ rows: [ConfigRow], _ place: (path: String?, exists: Bool)) {
        let path = Terminal.visible(place.path ?? "no config file: HOME is not set")
        Terminal.print("# \(path)\(place.exists ? "" : " (not there)")")
        let names = rows.map(\.option.name.count).max() ?? 0
        let cells = rows.map { Terminal.visible($0.shown) }
        let width = min(cells.map(\.count).max() ?? 0, 40)
        for (row, value) in zip(rows, cells) {
            let line =
                TextColumns.pad(row.option.name, to: names) + "  " + TextColumns.pad(value, to: width) + "  "
                + Terminal.visible(row.from)
            Terminal.print(line)
        }
    }

    static let summary: [JSONField<(path: String?, exists: Bool)>] = [
        JSONField("config_file", "The path of the config file, and whether the file exists.") { $0.path },
        JSONField("exists", nil) { $0.exists },
    ]
}

/// The value of one option, and its origin.
struct ConfigRow: Sendable {
    let option: OptionSpec
    let setting: Setting?
    let byDefault: String?
    let commands: [String]

    private var values: [String] {
        guard let setting else { return [] }
        return setting.values.map { value in option.secret.map { $0.hidden(in: value) } ?? value }
    }

    /// The value as it would be written; `-` for none.
    var shown: String {
        guard let setting else { return byDefault ?? (option.isFlag ? "false" : "-") }
        return values.isEmpty ? "\(setting.isOn)" : values.joined(separator: " ")
    }

    var from: String {
        switch setting?.origin {
        case nil: "default"
        case .commandLine: "command line"
        case .environment(let variable): variable
        case .file(let path, let line): "\(path):\(line)"
        }
    }

    static let fields: [JSONField<ConfigRow>] = [
        JSONField("option", "The long name, and the value: text, true or false for a switch, or a list.") {
            $0.option.name
        },
        JSONField("value", nil) { row in
            if row.option.isSwitch, row.values.isEmpty { return StrictJSON.bool(row.setting?.isOn ?? false) }
            if row.option.isRepeatable { return .array(row.values.map { .string($0) }) }
            return (row.values.last ?? row.byDefault).map { .string($0) } ?? .null
        },
        JSONField("origin", "default, command-line, environment or file.") { row in
            row.setting.map { ["command-line", "environment", "file"][$0.origin.layer] } ?? "default"
        },
        JSONField("file", "The place in the config file; null for another origin.") { $0.place?.path },
        JSONField("line", nil) { $0.place?.line },
        JSONField("variable", "The environment variable of the option.") { $0.option.environmentVariable },
        JSONField("takes", "The placeholder of the value in help; null for a switch.") { $0.option.value?.placeholder },
        JSONField("commands", "The commands that have the option.") { $0.commands },
    ]

    private var place: (path: String, line: Int)? {
        if case .file(let path, let line) = setting?.origin { return (path, line) }
        return nil
    }
}
