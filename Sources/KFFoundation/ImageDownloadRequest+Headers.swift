import Foundation
import KFCore

/// The names of Foundation's `URLRequest` for headers.
extension ImageDownloadRequest {
    /// Returns the first value of a header; nil when there is none. The case of the name does not matter.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }

    /// Sets a header in place of all of that name; nil removes them.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) { headers[field] = value }

    /// Adds a header beside those of the same name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) { headers.append((field, value)) }

    /// The headers by name; setting them replaces all. Of several with one name, the first is returned.
    public var allHTTPHeaderFields: [String: String]? {
        get { Dictionary(headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }) }
        set { headers = (newValue ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}
