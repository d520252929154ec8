/// The fields of one record of comma- or tab-separated values (RFC 4180).
enum DelimitedFields {
    /// A record of commas alone would take 60 times its length.
    private static let most = 1 << 14

    /// Throws `ListProblem.record` for a quoted field that goes on behind its end, and for more fields than a table has.
    static func split(_ record: ArraySlice<UInt8>, delimiter: UInt8) throws(ListProblem) -> [[UInt8]] {
        let quote = UInt8(ascii: "\"")
        var fields: [[UInt8]] = []
        var rest = record
        while true {
            var field: [UInt8] = []
            if rest.first == quote {
                rest.removeFirst()
                while true {
                    guard let end = rest.firstIndex(of: quote) else { throw .record("a quoted field never ends") }
                    field += rest[..<end]
                    rest = rest[(end + 1)...]
                    guard rest.first == quote else { break }
                    field.append(quote)
                    rest.removeFirst()
                }
                guard rest.isEmpty || rest.first == delimiter else {
                    throw .record("field \(fields.count + 1) goes on behind its closing quote")
                }
            } else {
                let end = rest.firstIndex(of: delimiter) ?? rest.endIndex
                field = Array(rest[..<end])
                rest = rest[end...]
            }
            guard fields.count < most else { throw .record("more than \(most) fields") }
            fields.append(field)
            guard rest.first == delimiter else { return fields }
            rest.removeFirst()
        }
    }
}
