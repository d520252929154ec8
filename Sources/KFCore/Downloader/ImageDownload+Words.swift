import KFNetwork

extension KingfisherError {
    /// What was taken as it came, for want of a decoder, is no image because of its encoding.
    func naming(encoding: String?) -> KingfisherError {
        guard case .responseError(reason: .notAnImage) = self, let encoding, !encoding.isEmpty else { return self }
        return .responseError(reason: .notAnImage(found: "it came with Content-Encoding \(encoding)"))
    }

    /// The bytes are not a whole image.
    var isDamage: Bool {
        switch self {
        case .responseError(reason: .notAnImage), .responseError(reason: .damagedImage): true
        default: false
        }
    }
}

extension Duration {
    /// In seconds, rounded up; at least one.
    var roundedSeconds: Int64 { max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0)) }
}
