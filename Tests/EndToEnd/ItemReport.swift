import Foundation
import Support

/// One line of `--json`.
struct ItemReport: Decodable {
    struct Failure: Decodable {
        let code: Int
        let reason: String
        let message: String
        let expected: String?
        let found: String?
    }

    let schema: Int
    let source: String
    let key: String?
    let status: String
    let path: String?
    let output: String?
    let bytes: Int?
    let format: String?
    let width: Int?
    let height: Int?
    let frames: Int?
    let sha256: String?
    let httpStatus: Int?
    let attempts: Int?
    let mirror: String?
    let timings: [String: Double]?
    let error: Failure?
}

extension CommandResult {
    /// The items of a `--json` run, in the order in which they ended. Throws when a line is no JSON.
    func items() throws -> [ItemReport] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try objects().filter { $0.keys.contains("source") }.map { object in
            try decoder.decode(ItemReport.self, from: JSONSerialization.data(withJSONObject: object))
        }
    }

    /// The only item of a `--json` run.
    func item() throws -> ItemReport {
        let items = try items()
        guard let item = items.first, items.count == 1 else {
            throw RunningCommand.Failure(description: "\(items.count) items instead of one: \(self)")
        }
        return item
    }

    /// Every line of a `--json` run.
    func objects() throws -> [[String: Any]] {
        try outputLines.map { line in
            guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw RunningCommand.Failure(description: "no JSON object: \(line)")
            }
            return object
        }
    }

    /// The path that a plain `kf fetch` of one source printed.
    var printedPath: String { outputLines.first ?? "" }
}
