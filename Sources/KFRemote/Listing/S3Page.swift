import Glibc
import KFStorage
import KFSystem

/// A page of the list of a bucket: the answer to ListObjectsV2.
struct S3Page: Sendable {
    private(set) var files: [(key: String, size: Int64, modified: Timestamp?)] = []
    /// The token of the next page; nil for the last one.
    private(set) var next: String?

    /// Parses the XML of a page. Nil if it is none, or does not say how large each object is.
    init?(_ xml: [UInt8]) {
        let list = ["ListBucketResult"]
        var isList = false
        var isTruncated = false
        var hasAll = true
        var key: String?
        var size: Int64?
        var modified: Timestamp?
        let isWhole = XMLText.read(xml) { path, text in
            guard path.first == list[0] else { return }
            switch path.dropFirst() {
            case []: isList = true
            case ["IsTruncated"]: isTruncated = text == "true"
            case ["NextContinuationToken"]: next = text
            case ["Contents", "Key"]: key = text
            case ["Contents", "Size"]: size = Int64(text)
            case ["Contents", "LastModified"]: modified = Self.time(text)
            case ["Contents"]:
                if let key, let size { files.append((key, size, modified)) } else { hasAll = false }
                (key, size, modified) = (nil, nil, nil)
            default: break
            }
        }
        guard isWhole, isList, hasAll, isTruncated == (next != nil) else { return nil }
    }

    /// Parses a time such as `2026-11-27T10:00:00.000Z`. Its fraction does not count.
    private static func time(_ text: String) -> Timestamp? {
        let numbers = text.split { !$0.isASCII || !$0.isNumber }.compactMap { Int32($0, radix: 10) }
        guard text.hasSuffix("Z"), numbers.count >= 6, (1970...9999).contains(numbers[0]),
            numbers[1...5].allSatisfy({ $0 < 100 })
        else {
            return nil
        }
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Timestamp(milliseconds: Int64(timegm(&fields)).multiplied(saturating: 1000))
    }
}
