/// What is worth knowing of an ICC profile without a colour engine.
enum ICCProfile {
    /// The profile if it is one for pixels like these; a profile for ink says nothing about RGB made from it.
    static func fitting(_ profile: [UInt8]?, _ format: PixelFormat) -> [UInt8]? {
        guard let profile, profile.count >= 128 else { return nil }
        let space = format.isGray ? "GRAY" : "RGB "
        let matches = profile.withUnsafeBytes { $0.holds("acsp", at: 36) && $0.holds(space, at: 16) }
        return matches ? profile : nil
    }
}
