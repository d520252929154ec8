/// One option as `kf config` shows it.
struct ConfigRow: Sendable {
    let option: OptionSpec
    let setting: Setting?
    let byDefault: String?
    let commands: [String]

    /// The values without the secrets in them.
    private var values: [String] {
        guard let setting else { return [] }
        return setting.values.map { value in option.secret.map { $0.hidden(in: value) } ?? value }
    }

    /// A value as it would be written; `-` for none.
    var shown: String {
        guard let setting else { return byDefault ?? (option.isFlag ? "false" : "-") }
        return option.isFlag ? "\(setting.isOn)" : values.joined(separator: " ")
    }

    var from: String {
        switch setting?.origin {
        case nil: "default"
        case .commandLine: "command line"
        case .environment(let variable): variable
        case .file(let path, let line): "\(path):\(line)"
        }
    }

    var json: JSONObject {
        var object = JSONObject()
        object.add("schema", 1)
        object.add("option", option.long)
        if option.isFlag {
            object.add("value", setting?.isOn ?? false)
        } else if option.isRepeatable {
            object.add("value", strings: values)
        } else {
            object.add("value", values.last ?? byDefault)
        }
        var line: Int?
        var place: String?
        switch setting?.origin {
        case nil: object.add("origin", "default")
        case .commandLine: object.add("origin", "command-line")
        case .environment: object.add("origin", "environment")
        case .file(let path, let number):
            object.add("origin", "file")
            (place, line) = (path, number)
        }
        object.add("file", place)
        object.add("line", line)
        object.add("variable", option.environmentVariable)
        object.add("takes", option.value?.placeholder)
        object.add("commands", strings: commands)
        return object
    }
}
