import KFCore

/// One JSON object on one line. Its members keep the order in which they are added.
struct JSONObject: JSONValue {
    private var text = "{"

    init() {}

    init<Record>(part record: Record, _ fields: [JSONField<Record>]) { add(record, fields) }

    /// One line of output: the schema, and the record's fields.
    init<Record>(_ record: Record, _ fields: [JSONField<Record>]) {
        text.reserveCapacity(Self.usualLength)
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

    func append(to text: inout String) {
        text += self.text
        text += "}"
    }

    var json: String { text + "}" }

    mutating func add(_ name: String, _ value: some JSONValue) {
        if text.utf8.count > 1 { text += "," }
        text += "\""
        text += name
        text += "\":"
        value.append(to: &text)
    }

    private mutating func add<Record>(_ record: Record, _ fields: [JSONField<Record>]) {
        for field in fields { field.add(record, &self) }
    }

    /// The length of an item's object, in bytes.
    private static let usualLength = 1000
}

/// A member of a JSON object: its name, its documentation, and its value in a record.
///
/// Output and the manual page are generated from tables of fields.
struct JSONField<Record>: Sendable {
    let name: String
    /// The text of the manual page; nil when the field before it is explained with it.
    let meaning: String?
    /// Adds the member to an object, unless it is left out.
    let add: @Sendable (Record, inout JSONObject) -> Void
}

extension JSONField {
    init(
        _ name: String, _ meaning: String?, _ value: @escaping @Sendable (Record) -> some JSONValue
    ) {
        self.init(name: name, meaning: meaning) { $1.add(name, value($0)) }
    }

    /// A member that is left out when there is no value.
    static func ifPresent(
        _ name: String, _ meaning: String?, _ value: @escaping @Sendable (Record) -> (some JSONValue)?
    ) -> Self {
        Self(name: name, meaning: meaning) { if let value = value($0) { $1.add(name, value) } }
    }

    func of<Whole>(_ part: @escaping @Sendable (Whole) -> Record) -> JSONField<Whole> {
        let add = add
        return JSONField<Whole>(name: name, meaning: meaning) { add(part($0), &$1) }
    }
}

/// The documentation of one kind of JSON object.
struct JSONGroup {
    let title: String
    /// Terms, which may name several members, and their meanings.
    let rows: [(term: String, meaning: String)]
}

extension JSONGroup {
    init<Record>(_ title: String, _ fields: [JSONField<Record>]) {
        var rows: [(term: String, meaning: String)] = []
        for field in fields {
            if let meaning = field.meaning {
                rows.append((field.name, meaning))
            } else {
                rows[rows.count - 1].term += ", \(field.name)"
            }
        }
        self.init(title: title, rows: rows)
    }
}

/// Members that objects of several commands have.
enum CommonFields {
    static let key = "The cache key; null when the source is not understood."
    static let path = "The image's file in the cache, read-only; null when there is none."

    /// The facts about an image; all null for one that failed.
    static let facts: [JSONField<ImageFacts?>] = [
        JSONField("bytes", "The size of the image's file.") { $0?.bytes },
        JSONField("format", "png, jpeg, gif, webp, avif, heic, jxl, bmp, tiff, jp2, ico or svg, by the file's bytes.") {
            $0?.format.rawValue
        },
        JSONField("width", "The size in pixels; null when the header does not state it.") { $0?.width },
        JSONField("height", nil) { $0?.height },
        JSONField("frames", "The number of frames; 1 for a still image.") { $0?.frames },
        JSONField("decodable", "Whether kf can decode the format.") { $0?.isDecodable ?? false },
        JSONField("sha256", "The SHA-256 of the image's file, in hexadecimal digits.") { $0?.sha256 },
    ]
}
