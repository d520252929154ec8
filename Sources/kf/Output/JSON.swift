import KFCore

/// A value that can be a member of a JSON object.
protocol JSONValue: SendableMetatype {
    var json: String { get }
}

extension Bool: JSONValue { var json: String { self ? "true" : "false" } }
extension Int: JSONValue { var json: String { "\(self)" } }
extension Int64: JSONValue { var json: String { "\(self)" } }
extension Optional: JSONValue where Wrapped: JSONValue { var json: String { self?.json ?? "null" } }
extension Array: JSONValue where Element: JSONValue {
    var json: String { "[" + map(\.json).joined(separator: ",") + "]" }
}

extension Duration: JSONValue {
    /// The seconds, to the microsecond.
    var json: String {
        let (seconds, attoseconds) = components
        let fraction = String(attoseconds / 1_000_000_000_000)
        return "\(seconds)." + String(repeating: "0", count: 6 - fraction.count) + fraction
    }
}

extension String: JSONValue {
    /// The text in quotes. Characters that could mislead a terminal are escaped, and every JSON parser restores them.
    var json: String {
        if VisibleText.isPlain(self), !utf8.contains(where: { $0 == 0x22 || $0 == 0x5c }) { return "\"\(self)\"" }
        var result = "\""
        for scalar in RawText.percentEscaped(self).unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where !VisibleText.isHarmless(scalar):
                for unit in String(scalar).utf16 { result += "\\u\(VisibleText.hexadecimal(UInt32(unit), 4))" }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

/// A value of any kind.
struct JSONText: JSONValue {
    let json: String

    init(_ value: some JSONValue) { json = value.json }
}

extension StrictJSON: JSONValue {
    package var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value.json
        case .number(let text): text
        case .string(let text): text.json
        case .array(let values): values.json
        case .object(let members):
            "{" + members.map { "\($0.name.json):\($0.value.json)" }.joined(separator: ",") + "}"
        }
    }
}

/// One JSON object on one line. Its members keep the order in which they are added.
struct JSONObject: JSONValue {
    private var text = "{"

    /// An empty object.
    init() {}

    /// An object inside another one.
    init<Record>(part record: Record, _ fields: [JSONField<Record>]) { add(record, fields) }

    /// One line of output: the schema, and the record's fields.
    init<Record>(_ record: Record, _ fields: [JSONField<Record>]) {
        add("schema", 1)
        add(record, fields)
    }

    /// The last line of a command that prints several.
    init<Record>(summary record: Record, _ fields: [JSONField<Record>], status: ExitStatus? = nil) {
        add("schema", 1)
        add("summary", true)
        add(record, fields)
        if let status { add("exit_status", Int(status.rawValue)) }
    }

    var json: String { text + "}" }

    mutating func add(_ name: String, _ value: some JSONValue) { member(name, value.json) }

    private mutating func add<Record>(_ record: Record, _ fields: [JSONField<Record>]) {
        for field in fields {
            if let value = field.json(record) { member(field.name, value) }
        }
    }

    private mutating func member(_ name: String, _ value: String) {
        if text.utf8.count > 1 { text += "," }
        text += "\"\(name)\":\(value)"
    }
}

/// A member of a JSON object: its name, its documentation, and its value in a record.
///
/// Output and the manual page are generated from tables of fields.
struct JSONField<Record>: Sendable {
    let name: String
    /// The text of the manual page; nil when the field before it is explained with it.
    let meaning: String?
    /// The value's text; nil leaves the member out.
    let json: @Sendable (Record) -> String?

    init(
        _ name: String, _ meaning: String?, _ value: @escaping @Sendable (Record) -> some JSONValue
    ) {
        self.init(name: name, meaning: meaning) { value($0).json }
    }

    /// A member that is left out when there is no value.
    static func ifPresent(
        _ name: String, _ meaning: String?, _ value: @escaping @Sendable (Record) -> (some JSONValue)?
    ) -> Self {
        Self(name: name, meaning: meaning) { value($0)?.json }
    }

    private init(name: String, meaning: String?, json: @escaping @Sendable (Record) -> String?) {
        self.name = name
        self.meaning = meaning
        self.json = json
    }

    /// The same member of a larger record.
    func of<Whole>(_ part: @escaping @Sendable (Whole) -> Record) -> JSONField<Whole> {
        let json = json
        return JSONField<Whole>(name: name, meaning: meaning) { json(part($0)) }
    }
}

/// The documentation of one kind of JSON object.
struct JSONGroup {
    let title: String
    /// Terms, which may name several members, and their meanings.
    let rows: [(term: String, meaning: String)]

    init<Record>(_ title: String, _ fields: [JSONField<Record>]) {
        self.title = title
        var rows: [(term: String, meaning: String)] = []
        for field in fields {
            if let meaning = field.meaning {
                rows.append((field.name, meaning))
            } else {
                rows[rows.count - 1].term += ", \(field.name)"
            }
        }
        self.rows = rows
    }

    init(_ title: String, rows: [(term: String, meaning: String)]) {
        self.title = title
        self.rows = rows
    }
}

/// Members that objects of several commands have.
enum CommonFields {
    static let key = "The cache key; null when the source is not understood."
    static let path = "The image's file in the cache, read-only; null when there is none."

    /// The facts about an image; all null for one that failed.
    static let facts: [JSONField<ImageFacts?>] = [
        JSONField("bytes", "The size of the image's file.") { $0?.bytes },
        JSONField("format", "png, jpeg, gif, webp, avif, heic, jxl, bmp, tiff, ico or svg, by the file's bytes.") {
            $0?.format.rawValue
        },
        JSONField("width", "The size in pixels, as stored; null when kf cannot decode the format.") { $0?.width },
        JSONField("height", nil) { $0?.height },
        JSONField("frames", "The number of frames; 1 for a still image.") { $0?.frames },
        JSONField("decodable", "Whether kf can decode the format.") { $0?.isDecodable ?? false },
        JSONField("sha256", "The SHA-256 of the image's file, in hexadecimal digits.") { $0?.sha256 },
    ]
}
