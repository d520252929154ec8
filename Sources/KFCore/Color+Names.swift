import KFImaging

/// The colours of UIKit and AppKit by name. CSS has other values for some of the names: its `green` is half as bright, which
/// `Color("green")` is.
extension Color {
    /// Opaque red, `#ff0000`.
    public static let red = Color(red: 255, green: 0, blue: 0)
    /// Opaque green, `#00ff00`.
    public static let green = Color(red: 0, green: 255, blue: 0)
    /// Opaque blue, `#0000ff`.
    public static let blue = Color(red: 0, green: 0, blue: 255)
    /// Opaque cyan, `#00ffff`.
    public static let cyan = Color(red: 0, green: 255, blue: 255)
    /// Opaque yellow, `#ffff00`.
    public static let yellow = Color(red: 255, green: 255, blue: 0)
    /// Opaque magenta, `#ff00ff`.
    public static let magenta = Color(red: 255, green: 0, blue: 255)
    /// Opaque orange, `#ff8000`.
    public static let orange = Color(red: 255, green: 128, blue: 0)
    /// Opaque purple, `#800080`.
    public static let purple = Color(red: 128, green: 0, blue: 128)
    /// Opaque brown, `#996633`.
    public static let brown = Color(red: 153, green: 102, blue: 51)
    /// Opaque grey, half as bright as white: `#808080`.
    public static let gray = Color(red: 128, green: 128, blue: 128)
    /// Opaque grey, a third as bright as white: `#555555`.
    public static let darkGray = Color(red: 85, green: 85, blue: 85)
    /// Opaque grey, two thirds as bright as white: `#aaaaaa`.
    public static let lightGray = Color(red: 170, green: 170, blue: 170)
    /// ``transparent`` under the name of UIKit and AppKit.
    public static let clear = Color.transparent
}
